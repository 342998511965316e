"""A report on hidden cases tells statuses and points; its words come of public cases alone."""

import re
from collections import defaultdict
from dataclasses import replace
from math import log2
from pathlib import Path

import numpy as np
import pytest
from support import ROOT

from grader.compare.retry import plain_calls
from grader.course.load import CourseFolder
from grader.course.models import Course, Exercise, Target
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine
from grader.grading.jobs import Standins
from grader.handin.read import Source, Submission
from grader.key.cache import Keys, load_keys
from grader.records.calls import HIDDEN
from grader.records.ids import CheckId
from grader.records.key import AnswerKey, KnownBug, ValueProof
from grader.records.results import CheckResult, ExerciseResult, Kind, Status
from grader.worker.names import Group

# exercise and text of a submission that puts what it is given into all that a report may show
TELLTALES = {
    "types": (
        "exercise1",
        """
import torch
def self_attention(x):
    return type(f"OUCH{x.sum().item()}", (), {})()
def attention_weights(query, key, scale=None):
    return torch.zeros([int(1e3 * abs(n)) for n in query.flatten()[:2]] + [0]).cfloat()
globals()["scaled_dot_product_attention" + "_OUCH"] = torch.relu
""",
    ),
    "places made up": (
        "exercise1",
        """
def self_attention(x):
    made = {}
    lines = 10_000_000 + int(1000 * abs(x.sum().item()))
    text = "\\n" * lines + "def f(): raise ValueError"
    exec(compile(text, "exercise1_attention.py", "exec"), made)
    made["f"]()
""",
    ),
    "lines": (
        "exercise1",
        "def number(x):\n    return int(1e6 * x.abs().sum().item())\n"
        + "".join(f"def raise_{i}():\n    raise ValueError\n" for i in range(512))
        + "def self_attention(x):\n    globals()[f'raise_{number(x) % 512}']()\n"
        "def attention_weights(query, key, scale=None):\n"
        "    globals()[f'raise_{number(query) % 512}']()\n",
    ),
    "exceptions": (
        "exercise1",
        """
import builtins
KINDS = [k for k in vars(builtins).values() if isinstance(k, type) and issubclass(k, Exception)]
KINDS = [k for k in KINDS if "Unicode" not in k.__name__ and "Group" not in k.__name__]
def self_attention(x):
    raise KINDS[int(1e6 * x.abs().sum().item()) % len(KINDS)]
""",
    ),
    "mistakes": (
        "exercise1",
        """
def self_attention(x):
    return (x.mean() * x, x.softmax(-1), 2 * x)[int(1e6 * x.abs().sum().item()) % 3]
def attention_weights(query, key, scale=None):
    scores = query @ key.transpose(-1, -2)
    which = int(1e6 * query.abs().sum().item()) % 3
    return (scores.softmax(-1), scores, scores.softmax(-2))[which]
""",
    ),
    "attributes": (
        "exercise4",
        """
from torch import nn
class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        size = hidden_dim or 4 * embed_dim
        self.expand, self.contract = nn.Linear(embed_dim, size), nn.Linear(size, embed_dim)
        self.activation = nn.GELU() if activation == "gelu" else nn.ReLU()
    def forward(self, x):
        name = f"OUCH{x.sum().item()}".replace(".", "_")
        self.register_parameter(name, nn.Parameter(x.detach()[0, 0]))
        if len(x) > 3:
            setattr(self, f"{name}x", [nn.Parameter(x.detach())])
        return self.contract(self.activation(self.expand(x)))
""",
    ),
    "names of layers": (
        "exercise4",
        """
from torch import nn
class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        self.parts = nn.ModuleDict({f"OUCH{embed_dim}": nn.Linear(embed_dim, embed_dim + 1)})
    def forward(self, x):
        return x
""",
    ),
}


def words(result: ExerciseResult) -> list[object]:
    """All that a result says beside statuses and points."""
    checks = [replace(c, score=0.0, max_score=0.0, status=Status.PASSED) for c in result.checks]
    return [*checks, *result.diagnoses, *result.notes, result.output]


@pytest.fixture(scope="module")
def public(folder: CourseFolder, keys: Keys, warm: WarmProcess) -> Engine:
    return Engine(folder, replace(keys, pairs=lambda _: {}), Standins.of(folder), warm)


def hidden_engine(public: Engine, exercise: str, factor: float) -> Engine:
    """An engine whose hidden cases have the public ones' inputs times a factor."""
    key = public.keys.keys[exercise]
    return replace(public, keys=with_key(public, exercise, scaled(key, factor)), public=public)


def scaled(key: AnswerKey, factor: float) -> AnswerKey:
    tensors = {
        name: value * factor if np.issubdtype(value.dtype, np.floating) else value
        for name, value in key.plan.tensors.items()
    }
    return replace(key, plan=replace(key.plan, split=HIDDEN, tensors=tensors))


def with_key(engine: Engine, exercise: str, key: AnswerKey) -> Keys:
    return replace(engine.keys, keys={**engine.keys.keys, exercise: key})


def graded(engine: Engine, exercise: str, text: str) -> ExerciseResult:
    course = engine.folder.course
    sources = {e.id: Source(e.file, problem="not handed in") for e in course.exercises}
    file = course.exercise(exercise).file
    sources[exercise] = Source(file, units=((file, text),))
    return engine.run(course.exercise(exercise), Submission(sources)).result


@pytest.mark.parametrize(("exercise", "text"), TELLTALES.values(), ids=list(TELLTALES))
@pytest.mark.long
def test_words_are_the_same_whatever_the_hidden_inputs_are(
    exercise: str, text: str, public: Engine
) -> None:
    results = [graded(hidden_engine(public, exercise, f), exercise, text) for f in (1.37, 2.91)]
    statuses = [[check.status for check in result.checks] for result in results]
    assert any(status is Status.FAILED for status in statuses[0])
    same = [one is other for one, other in zip(*statuses, strict=True)]
    one, other = (words(result) for result in results)
    told = zip(one, other, [*same, *[True] * (len(one) - len(same))], strict=True)
    assert [pair for *pair, alike in told if alike and pair[0] != pair[1]] == []


@pytest.mark.parametrize(("exercise", "text"), TELLTALES.values(), ids=list(TELLTALES))
def test_a_result_on_hidden_cases_alone_says_nothing_of_its_own(
    exercise: str, text: str, public: Engine
) -> None:
    engine = replace(hidden_engine(public, exercise, 1.37), public=None)
    result = graded(engine, exercise, text)
    assert (result.diagnoses, result.notes, result.output) == ((), (), "")
    told = {(c.status, c.message, c.next_step) for c in result.checks}
    assert len(told) == len({check.status for check in result.checks})
    for check in result.checks:
        bare = CheckResult(check.id, check.status, check.score, check.max_score)
        assert replace(check, message="", next_step="") == bare


@pytest.fixture(scope="module")
def hidden(public: Engine, key_cache: Path) -> Engine:  # noqa: ARG001 - a key is built
    """An engine with real hidden cases of exercise 1."""
    secret = b"a secret of sixteen bytes or more"
    keys = load_keys(public.folder, ["exercise1"], HIDDEN, secret=secret)
    return replace(public, keys=replace(keys, pairs=lambda _: {}), public=public)


SOLUTION = (ROOT / "solutions" / "exercise1_attention.py").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_mistake_is_told_in_the_words_of_the_public_cases(hidden: Engine, public: Engine) -> None:
    text = re.sub(r"softmax\((\w+), dim=-1\)", r"softmax(\1, dim=-2)", SOLUTION)
    assert text != SOLUTION
    result, due = (graded(engine, "exercise1", text) for engine in (hidden, public))
    assert result.score < result.max_score
    assert result.diagnoses == due.diagnoses != ()
    told = {check.id: check for check in due.checks}
    failed = [check for check in result.checks if check.status is Status.FAILED]
    assert failed == [told[check.id] for check in failed]


def test_what_is_right_on_public_cases_alone_is_told_so(hidden: Engine, public: Engine) -> None:
    seen = public.keys.keys["exercise1"].plan.tensors.values()
    sums = sorted({round(float(np.abs(value).sum()), 3) for value in seen})
    text = (
        f"{SOLUTION}\n_right = self_attention\n"
        "def self_attention(x):\n"
        f"    known = x.is_meta or round(x.abs().sum().item(), 3) in {sums}\n"
        "    return _right(x) if known else x\n"
    )
    assert {c.status for c in graded(public, "exercise1", text).checks} == {Status.PASSED}
    result = graded(hidden, "exercise1", text)
    messages = {c.message for c in result.checks if c.status is Status.FAILED}
    assert messages == {"it is right on the public cases, and not on hidden ones"}


def test_right_work_runs_on_hidden_cases_alone(hidden: Engine) -> None:
    alone = replace(hidden, public=None)
    assert graded(hidden, "exercise1", SOLUTION) == graded(alone, "exercise1", SOLUTION)


# ---- how much is told ----------------------------------------------------------------------------

# right on public cases; on others each call is right, wrong, of another shape, unwritten or endless
CHOOSER = (
    SOLUTION
    + """
import time
def choosing(right):
    def choose(*inputs, **options):
        output = right(*inputs, **options)
        number = 0 if inputs[0].is_meta else inputs[0].detach().abs().sum().item()
        if number == 0 or round(number, 3) in KNOWN:
            return output
        choice = int(1e6 * number) % 23
        if choice == 1:
            time.sleep(30)
        if choice in (2, 3):
            raise NotImplementedError
        wrong = {4: output * 0, 5: output[..., :1], 6: -output, 7: output.detach()}
        return wrong.get(choice, output)
    return choose
self_attention = choosing(self_attention)
attention_weights = choosing(attention_weights)
scaled_dot_product_attention = choosing(scaled_dot_product_attention)
"""
)
_MOST = 103  # bits, of one exercise
_CALLS = 256  # of an exercise on public cases, fewer than
_ALWAYS = 3 + log2(_CALLS)  # a timeout, a fault, something to tell, and how many calls had time


def told_bits(folder: CourseFolder, exercise: Exercise, key: AnswerKey) -> float:
    """How many bits the statuses of an exercise can tell of inputs, by what decides each of them.

    Where the values without an option are wrong, no property and no gradient is passed. Where they
    are right, so are the outputs by which a known bug is told there. A bug check says no more than
    the calls that show the bug, and those of other bugs with them. A group of cases with an option
    ends in one of four ways.
    """
    return sum(_bits_of(folder.course, exercise, key, target) for target in exercise.targets)


def _bits_of(course: Course, exercise: Exercise, key: AnswerKey, target: Target) -> float:
    plain = {(call.id, Group.OUTPUT) for call in plain_calls(key, target.name)}
    # a layer without its bias may lack single calls, and have all values right
    lacking = any(role.optional for c in key.plan.of_target(target.name) for role in c.roles)
    proofs = {frozenset(_shown_by(bug)) for bug in key.book.checked(target.name)}
    beside_right = {proof if lacking else proof - plain for proof in proofs} - {frozenset()}
    beside_wrong = {proof for proof in proofs if {group for _, group in proof} == {Group.OUTPUT}}
    properties = course.properties(exercise, target)
    options = 2 * (len(key.plan.groups(target.name)) - 1)
    right = 1 + options + len(properties) + _decided(beside_right)
    wrong = 1 + options + sum(prop.of_parts for prop in properties) + _decided(beside_wrong)
    return log2(2**right + 2**wrong)


def _shown_by(bug: KnownBug) -> set[tuple[str, Group]]:
    return {(proof.call, proof.group) for proof in bug.proofs if isinstance(proof, ValueProof)}


def _decided(proofs: set[frozenset[tuple[str, Group]]]) -> int:
    return min(len(proofs), len(frozenset().union(*proofs)))


def test_no_report_can_tell_more_bits_than_the_pages_say(folder: CourseFolder, keys: Keys) -> None:
    bits = {e.id: told_bits(folder, e, keys.keys[e.id]) for e in folder.course.exercises}
    assert max(len(key.plan.calls) for key in keys.keys.values()) < _CALLS
    assert max(bits.values()) < _MOST, bits
    said = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert f"at most {_MOST + _ALWAYS:g} bits" in " ".join(said.split())


def _hasty(engine: Engine) -> Engine:
    """An engine that waits a short time for a call."""
    course = engine.folder.course
    limits = course.limits.model_copy(update={"case_seconds": 0.5})
    return replace(
        engine, folder=replace(engine.folder, course=course.model_copy(update={"limits": limits}))
    )


@pytest.mark.long
def test_an_attacker_chooses_one_bit_a_check_at_most(public: Engine) -> None:
    seen = public.keys.keys["exercise1"].plan.tensors.values()
    sums = sorted({round(float(np.abs(value).sum()), 3) for value in seen})
    text = f"KNOWN = {sums}\n{CHOOSER}"
    hasty = _hasty(public)
    results = [
        graded(replace(hidden_engine(hasty, "exercise1", factor), public=hasty), "exercise1", text)
        for factor in np.linspace(1.1, 3, 12)
    ]
    told = defaultdict(list)
    for result in results:
        passed = tuple(check.status is Status.PASSED for check in result.checks)
        told[passed].append((result.checks, result.diagnoses, result.score))
    assert len(told) > 6  # it does choose
    assert all(one == same[0] for same in told.values() for one in same)
    for same in zip(*(result.checks for result in results), strict=True):
        assert len({(check.status, check.message, check.next_step) for check in same}) <= 2
    assert len({result.notes for result in results}) == 2  # something took too long, or nothing
    for result in results:
        _assert_decided(public.keys.keys["exercise1"], result)


def _assert_decided(key: AnswerKey, result: ExerciseResult) -> None:
    """Assert what `told_bits` counts on."""
    passed = {check.id: check.status is Status.PASSED for check in result.checks}
    for target in {check.target for check in result.checks}:
        own = {check: ok for check, ok in passed.items() if check.target == target}
        right = own[CheckId("exercise1", target, Kind.NUMERIC)]
        gated = [ok for check, ok in own.items() if check.kind is Kind.PROPERTY]
        assert right or not any(gated)
        assert right or not own[CheckId("exercise1", target, Kind.GRADIENT)]
        bugs = {bug.id: frozenset(_shown_by(bug)) for bug in key.book.checked(target)}
        decided = {(bugs[c.name], ok) for c, ok in own.items() if c.kind is Kind.BUG}
        assert len(decided) == len({proof for proof, _ in decided})
        shown = {call for proof, ok in decided if ok for call in proof}
        assert all(ok for proof, ok in decided if proof <= shown)
