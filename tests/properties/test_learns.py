"""Models that learn: what is due, what is said of it, and what attacks come to."""

import textwrap
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from learning import DRAWING, LETTERS, RIGHT, SIGNS, WRITES, made
from small import judged

from grader.errors import CourseError
from grader.execute.launch import WarmProcess
from grader.grading import learnt
from grader.grading.engine import Engine, open_engine
from grader.grading.exhibits import exhibit_training
from grader.grading.learnt import learnt_of
from grader.handin.read import Source, Submission
from grader.records.answers import Answer, AnswerStatus
from grader.records.results import CheckResult, Status
from grader.report.pages import render_page
from grader.report.runs import render_learnt
from grader.worker.names import Group, tensor_name

pytestmark = pytest.mark.usefixtures("key_cache")


@pytest.fixture
def engine(tmp_path: Path, warm: WarmProcess) -> Engine:
    """Trains on the points."""
    folder = made(tmp_path)
    return open_engine(folder, folder.course.exercises, warm, trains=True)


def learning(engine: Engine, text: str) -> CheckResult:
    """Grade a text, and return the check of what it has learnt."""
    (exercise,) = engine.folder.course.exercises
    source = Source(exercise.file, ((exercise.file, textwrap.dedent(text)),))
    run = engine.run(exercise, Submission({exercise.id: source}), quick=True)
    (check,) = (c for c in run.result.checks if c.id.name == "learns")
    return check


# ---- what is due -------------------------------------------------------------------------------


def test_a_model_that_learns_passes_and_is_the_same_each_time(engine: Engine) -> None:
    assert [learning(engine, RIGHT).status for _ in range(3)] == [Status.PASSED] * 3


def test_nothing_is_trained_where_nobody_asks(engine: Engine) -> None:
    check = learning(replace(engine, trains=False), RIGHT)
    assert (check.status, check.score, check.waits) == (Status.SKIPPED, 0, True)
    assert check.message == "not trained yet"
    assert check.next_step == "train it with `grade train`"


def test_no_worker_gets_what_is_due(engine: Engine) -> None:
    key = engine.keys.keys["exercise1"]
    (call,) = key.plan.trainings
    due = key.answers[call.id].tensors[tensor_name(Group.LABELS)]
    sent = [values for values in key.plan.tensors.values() if values.shape == due.shape]
    assert [values for values in sent if np.array_equal(values, due)] == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4)", "nn.Linear(6, 4)"), ""),
        (("nn.Linear(24, 4))", "nn.Linear(24, 4), nn.Softmax(-1))"), "probabilities"),
        (("nn.Linear(24, 4))", "nn.Linear(24, 4), Off())"), "reaches "),
        (("nn.Linear(24, 4))", "nn.Linear(24, 4), Wild())"), "not finite"),
        (("nn.Linear(24, 4))", "nn.Linear(24, 4), Slow())"), "did not finish"),
        (("nn.Linear(24, 4))", "nn.Linear(24, 4), Torn())"), "batch_size"),
    ],
    ids=["linear", "softmax", "no gradient", "infinite", "slow", "cut"],
)
@pytest.mark.long
def test_what_does_not_learn_is_told(engine: Engine, change: tuple[str, str], said: str) -> None:
    layers = """
        import time, torch
        class Off(nn.Module):
            def forward(self, x):
                return x * 0 + x.sum() * 1e-9
        class Wild(nn.Module):
            def forward(self, x):
                return x * float("inf") if len(x) == 100 else x
        class Slow(nn.Module):
            def forward(self, x):
                time.sleep(9 if len(x) == 20 else 0)
                return x
        class Torn(nn.Module):
            def forward(self, x):
                return x.clone()[: len(x) // 2 + 1] if len(x) == 20 else x
    """
    text = RIGHT.replace(
        "from torch import nn\n", "from torch import nn\n" + textwrap.dedent(layers)
    )
    assert change[0] in text
    check = learning(engine, text.replace(*change))
    assert check.status is (Status.PASSED if not said else check.status)
    assert said in check.message
    assert (check.status is Status.PASSED) == (not said)


def test_a_part_that_is_lacking_is_told(tmp_path: Path, warm: WarmProcess) -> None:
    folder = made(tmp_path, LETTERS, WRITES)
    engine = open_engine(folder, folder.course.exercises, warm, trains=True)
    assert learning(engine, WRITES).status is Status.PASSED
    blind = WRITES.replace("nn.Embedding(vocab_size, 12)", "Blind(), nn.Embedding(vocab_size, 12)")
    check = learning(
        engine,
        "import torch\nfrom torch import nn\nclass Blind(nn.Module):\n"
        "    def forward(self, x):\n        return torch.zeros_like(x)\n" + blind,
    )
    assert check.status is Status.FAILED
    assert "at most 0.70 bits a token are due" in check.message
    assert check.message.endswith("a model without the last letter comes about as far")


def test_a_model_that_sees_what_it_is_to_say_does_not_pass(
    tmp_path: Path, warm: WarmProcess
) -> None:
    folder = made(tmp_path, LETTERS, WRITES)
    engine = open_engine(folder, folder.course.exercises, warm, trains=True)
    peeking = """
        import torch
        from torch import nn
        class Next(nn.Module):
            def forward(self, x):
                return torch.cat([x[:, 1:], x[:, :1] * 0], 1)
        def build(vocab_size):
            return nn.Sequential(Next(), nn.Embedding(vocab_size, 12), nn.Linear(12, vocab_size))
    """
    check = learning(engine, peeking)
    assert check.status is Status.FAILED
    assert "bits a token on 100 samples that it has not seen" in check.message


# ---- what is shown -----------------------------------------------------------------------------


def test_a_training_is_shown_with_what_it_wrote(tmp_path: Path, warm: WarmProcess) -> None:
    folder = made(tmp_path, LETTERS, WRITES)
    engine = open_engine(folder, folder.course.exercises, warm, trains=True)
    (exercise,) = folder.course.exercises
    work = Submission({exercise.id: Source(exercise.file, ((exercise.file, WRITES),))})
    run = engine.run(exercise, work, quick=True)
    (one,) = learnt_of(exercise, run)
    assert (one.steps, one.lacking) == (60, (("the last letter", "2.30 bits a token"),))
    assert one.losses[0] > 1.5 > 0.7 > one.losses[-1]
    assert [step for step, _ in one.written] == [3, 12, 30, 60]
    final = one.written[-1][1]
    pairs = {a + b for a, b in pairwise(final)}
    assert len(final) == 100
    assert {"ac", "ce", "eb", "bd", "da"} <= pairs  # what it has learnt
    assert "after 60 steps it writes" in render_learnt([one], 80)
    document = engine.sum_up([run.result])
    page = render_page(document, {exercise.id: (exhibit_training(one),)})
    assert '<svg class="curve" role="img" aria-label="the loss over 60 steps, from' in page
    assert final in page


def test_how_places_are_mixed_is_shown_where_a_run_makes_it(
    tmp_path: Path, warm: WarmProcess
) -> None:
    folder = made(tmp_path, LETTERS, WRITES)
    engine = open_engine(folder, folder.course.exercises, warm, trains=True)
    (exercise,) = folder.course.exercises
    mixing = """
        import torch
        from torch import nn
        class Mix(nn.Module):
            def forward(self, x):
                scores = (x @ x.mT).unsqueeze(1) * torch.tensor([1.0, 0.1])[:, None, None]
                return x + scores.softmax(-1)[:, 0] @ x
        def build(vocab_size):
            return nn.Sequential(
                nn.Embedding(vocab_size, 12), Mix(), Mix(), nn.Linear(12, vocab_size)
            )
    """
    source = Source(exercise.file, ((exercise.file, textwrap.dedent(mixing)),))
    run = engine.run(exercise, Submission({exercise.id: source}), quick=True)
    (one,) = learnt_of(exercise, run)
    assert [weights.shape for weights in one.mixed] == [(6, 6)] * 4
    assert all(np.allclose(weights.sum(-1), 1, atol=1e-3) for weights in one.mixed)
    assert len(one.sample) == 6
    page = render_page(engine.sum_up([run.result]), {exercise.id: (exhibit_training(one),)})
    assert page.count('aria-label="weights ') == 4
    assert f"<q>{one.sample}</q>" in page


@pytest.mark.parametrize(
    "weights",
    [np.zeros((17, 4, 4)), np.zeros((1, 4, 5)), np.full((1, 4, 4), np.nan), np.zeros((4, 4)),
     np.zeros((1, 65, 65)), np.zeros((1, 4, 4), np.int64)],
)  # fmt: skip
def test_odd_weights_are_not_shown(weights: np.ndarray) -> None:
    answer = Answer(AnswerStatus.OK, tensors={tensor_name(Group.MIXED): weights})
    assert learnt.mixed_of(answer) == ()


# ---- what a course says ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("data: signs", "data: sings", "there is no function 'sings'"),
        ("samples: 400", "samples: 400\n    batch_size: 3", "batch_size"),
        ("kind: factory", "kind: function", "it is no factory of modules that take one tensor"),
    ],
)
def test_what_a_course_says_of_learning_is_checked(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(CourseError, match=said):
        judged(made(tmp_path, SIGNS.replace(old, new)), RIGHT)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return x, (x[:, 0]", "return x[1:], (x[:, 0]", "draws other shapes"),
        ("return *draw(count)", "raise OSError('gone')\n    return *draw(count)", "OSError: gone"),
        ("return *draw(count)", "import nowhere\n    return *draw(count)", "needs nowhere"),
        ("(x[:, 1] > 0)\n", "(x[:, 1] > 0) * 1.0\n", "no whole numbers"),
    ],
)
def test_what_a_course_draws_to_learn_from_is_checked(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    folder = made(tmp_path)
    assert old in DRAWING
    (folder.solutions / "drawing.py").write_text(DRAWING.replace(old, new), encoding="utf-8")
    with pytest.raises(CourseError, match=said):
        judged(folder, RIGHT)


# ---- attacks -----------------------------------------------------------------------------------

ATTACKS = {
    "learns from the unseen": """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 4)
                self.seen = []
            def forward(self, x):
                if not self.training:
                    self.seen.append(x)
                    with torch.enable_grad():
                        for _ in range(20):
                            loss = torch.distributions.Categorical(logits=self.layer(x)).entropy()
                            loss.mean().backward()
                            for p in self.parameters():
                                p.data -= p.grad
                return self.layer(x.detach() * 0)
    """,
    "looks for labels in memory": """
        import gc
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 4)
            def forward(self, x):
                found = [t for t in gc.get_objects() if isinstance(t, torch.Tensor)
                         and t.shape[:1] == (200,) and not t.is_floating_point()]
                if found and not self.training:
                    return nn.functional.one_hot(found[0].flatten()[: len(x)].long(), 4).float()
                return self.layer(x * 0)
    """,
    "remembers the samples": """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 4)
                self.table = {}
            def forward(self, x):
                for row in x:
                    self.table.setdefault(tuple(row.tolist()), len(self.table) % 4)
                known = torch.tensor([self.table[tuple(row.tolist())] for row in x])
                return self.layer(x * 0) + nn.functional.one_hot(known, 4)
    """,
    "changes the loss": """
        torch.nn.functional.cross_entropy = lambda logits, labels: logits.sum() * 0
        class Model(nn.Linear):
            def __init__(self):
                super().__init__(6, 4)
    """,
    "claims that it is right": """
        import grader.worker.learning as learning
        learning.predict = lambda module, inputs: torch.full((len(inputs), 4), 1e30)
        import grader.worker.actions as actions
        actions.predict = learning.predict
        class Model(nn.Linear):
            def __init__(self):
                super().__init__(6, 4)
    """,
    "claims a number beyond all": """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 4)
            def forward(self, x):
                return self.layer(x) * (1 if self.training else float("nan"))
    """,
    "answers with more classes": """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 4)
            def forward(self, x):
                made = self.layer(x * 0)
                return made if self.training or len(x) < 100 else made.repeat(1, 3)[:, :3]
    """,
    "leaves in the middle": """
        import os
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 4)
            def forward(self, x):
                if self.training and len(x) == 20:
                    os._exit(0)
                return self.layer(x)
    """,
    "stops the clock": """
        import time
        time.monotonic = time.time = lambda: 0.0
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 4)
            def forward(self, x):
                while self.training and len(x) == 20:
                    pass
                return self.layer(x)
    """,
    "reads the course's data": """
        found = []
        try:
            from pydoc_data.topics import topics
            found.append("manual")
        except Exception:
            pass
        try:
            from sklearn.datasets import load_digits
            found.append("digits")
        except Exception:
            pass
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 4)
            def forward(self, x):
                print("found", *found)
                return self.layer(x * 0)
    """,
}


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.long
def test_attacks_on_training_earn_nothing(engine: Engine, name: str) -> None:
    text = "import torch\nfrom torch import nn\n" + textwrap.dedent(ATTACKS[name])
    check = learning(engine, text + "\ndef build():\n    return Model()\n")
    assert check.status in (Status.FAILED, Status.TIMEOUT)
    assert check.score == 0


def test_data_that_models_learn_is_closed_to_submissions(engine: Engine) -> None:
    text = "import torch\nfrom torch import nn\n" + textwrap.dedent(
        ATTACKS["reads the course's data"]
    )
    (exercise,) = engine.folder.course.exercises
    text += "\ndef build():\n    return Model()\n"
    source = Source(exercise.file, ((exercise.file, text),))
    run = engine.run(exercise, Submission({exercise.id: source}), quick=True)
    assert "found" in run.result.output.split()
    assert "manual" not in run.result.output
    assert "digits" not in run.result.output
