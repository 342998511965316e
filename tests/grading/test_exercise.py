"""Grading untrusted code: printed output, errors, earlier exercises; a fault costs its target."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import (
    FIND_PIPE,
    ROOT,
    SUBMISSIONS,
    GradeText,
    assert_full,
    assert_target_full,
    edited,
    find_check,
    solution,
    target_checks,
)

from grader.course.load import CourseFolder
from grader.execute.clock import End
from grader.execute.launch import WarmProcess
from grader.execute.session import collect
from grader.grading import rounds as grading_rounds
from grader.grading import shrink
from grader.grading.engine import Engine
from grader.grading.jobs import Standins
from grader.grading.rounds import Rounds
from grader.handin.read import Source, Submission
from grader.key.cache import Keys
from grader.records.answers import Answer
from grader.records.results import CheckResult, ExerciseResult, Status
from grader.records.signatures import Suspects

FILE = "exercise1_attention.py"
RIGHT = (SUBMISSIONS / "perfect" / FILE).read_text(encoding="utf-8")
SELF = "def self_attention(x):\n"


# ---- printed output ----------------------------------------------------------------------------


def with_body(body: str) -> str:
    """Return right work whose `self_attention` runs `body` first."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return edited(RIGHT, (SELF, SELF + lines))


@pytest.mark.parametrize(
    ("body", "printed"),
    [
        ("print('hello')", "hello"),
        ("import sys\nprint('hello', file=sys.stderr)", "hello"),
        ("import os\nos.write(1, b'hello')", "hello"),
        ('print(\'{"call": "1", "status": "ok"}\')', '{"call": "1", "status": "ok"}'),
        ("import warnings\nwarnings.warn('hello')", "UserWarning: hello"),
        ("import sys\nsys.stdout.close()", ""),
    ],
    ids=["print", "stderr", "descriptor", "an answer's text", "warning", "closed"],
)
def test_printing_disturbs_nothing_and_is_shown(
    body: str, printed: str, grade_text: GradeText
) -> None:
    result = grade_text({"exercise1": with_body(body)})
    assert_full(result)
    assert printed in result.output


def test_printed_output_is_capped_and_clean(grade_text: GradeText) -> None:
    body = "print('a\\x1b[31mred\\u202e' + 'x' * 5000)\nprint('y\\n' * 300)"
    result = grade_text({"exercise1": with_body(body)})
    assert_full(result)
    assert 0 < len(result.output) < 10_000
    assert len(result.output.splitlines()) <= 40
    assert not {"\x1b", "\u202e"} & set(result.output)


def test_endless_output_fails_its_target(grade_text: GradeText) -> None:
    result = grade_text({"exercise1": with_body("while True:\n    print('x' * 9999)")})
    assert_target_full(result, "attention_weights")
    check = find_check(result, "self_attention/shape")
    assert check.status is Status.FAILED
    assert "printed without end" in check.message


def test_all_rounds_of_calls_share_one_time(
    grade_text: GradeText, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What drips in float64 does not get its seconds again in float32."""
    left: list[float] = []  # seconds

    def noted(*given: Any, end: End, **more: Any) -> Any:
        left.append(end.at - time.monotonic())
        return collect(*given, end=end, **more)

    monkeypatch.setattr(grading_rounds, "collect", noted)
    grade_text({"exercise1": with_body("raise RuntimeError('in float64')")})
    assert len(left) == 2
    assert left[1] < left[0]


ODD_STEP = """
def self_attention(x):
    scores = x @ x.transpose(1, 2)
    weights = scores.softmax(-1) + scores / 100
    output = weights @ x
    x += 1
    return output
def attention_weights(query, key, scale=None):
    query += 1
    scores = query @ key.transpose(1, 2)
    weights = scores.softmax(-1) + scores / 100
    return weights
"""


def test_search_for_a_smaller_input_takes_no_time_from_the_diagnosis(
    grade: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine it may take all that is left, and no step would be named."""
    done: list[str] = []

    def search(_: object, result: CheckResult, *__: object) -> CheckResult:
        done.append("search")
        return result

    def record(rounds: Rounds, *given: Any) -> dict[str, Answer]:
        done.append("record")
        return recorded(rounds, *given)

    recorded = Rounds.record
    monkeypatch.setattr(shrink, "shrunk", search)
    monkeypatch.setattr(Rounds, "record", record)
    path = tmp_path / "exercise1_attention.py"
    path.write_text(ODD_STEP, encoding="utf-8")
    grade(path, "exercise1")
    assert set(done) == {"record", "search"}
    assert done == sorted(done)  # "record" first


def test_what_hangs_is_not_tried_in_float32(
    grade_text: GradeText, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = []

    def noted(*given: Any, **more: Any) -> Any:
        rounds.append(collect(*given, **more))
        return rounds[-1]

    monkeypatch.setattr(grading_rounds, "collect", noted)
    body = "if x.size(0) > 1:\n    raise RuntimeError('in float64')\nwhile True:\n    pass"
    result = grade_text({"exercise1": with_body(body)}, case_seconds=0.5)
    assert Status.TIMEOUT in {check.status for check in result.checks}
    assert len(rounds) == 1


def test_forged_frame_costs_only_its_target(grade_text: GradeText) -> None:
    text = RIGHT + FIND_PIPE + "\ndef self_attention(x):\n    forge(b'x' * 99)\n    return x\n"
    result = grade_text({"exercise1": text})
    assert {c.status for c in target_checks(result, "self_attention")} <= {
        Status.FAILED,
        Status.SKIPPED,
    }
    assert_target_full(result, "attention_weights")
    assert "larger than asked for" in find_check(result, "self_attention/numeric").message


# ---- errors of the submission ------------------------------------------------------------------


def message_of(body: str, grade_text: GradeText) -> str:
    """Return what is said where `body` raises; the others keep their points."""
    result = grade_text({"exercise1": with_body(body)})
    assert_target_full(result, "attention_weights")
    check = find_check(result, "self_attention/shape")
    assert check.status is Status.FAILED
    return check.message


def test_error_shows_the_students_own_line(grade_text: GradeText) -> None:
    message = message_of("import torch\ntorch.bmm(x, 3)", grade_text)
    assert message.startswith("`self_attention` raised TypeError: bmm(): argument 'mat2'")
    assert message.endswith(f"at {FILE}, line 14: `torch.bmm(x, 3)`")
    assert "calls.py" not in message
    assert "harness" not in message


def test_error_shows_the_line_that_python_counts(grade_text: GradeText) -> None:
    text = "# \x0c \x1c \u2028\n" + with_body("1 / 0  # \x1b[31m\u202e")
    message = find_check(grade_text({"exercise1": text}), "self_attention/shape").message
    assert message.endswith(f"at {FILE}, line 14: `1 / 0 # [31m`")


def test_error_of_a_wrong_call_names_no_frame_of_the_grader(grade_text: GradeText) -> None:
    text = edited(RIGHT, (SELF, "def self_attention():\n"))
    message = find_check(grade_text({"exercise1": text}), "self_attention/shape").message
    assert "takes 0 positional arguments but 1 was given" in message
    assert " at " not in message


EVIL = """class Evil(Exception):
    def __str__(self):
        {0}
    __repr__ = __str__
raise Evil"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (EVIL.format("raise RuntimeError"), "Evil: (its text cannot be made)"),
        (EVIL.format("raise SystemExit"), "Evil: (its text cannot be made)"),
        (EVIL.format("return 3"), "Evil: (its text cannot be made)"),
        (EVIL.format("return 'x' * (1 << 22)"), "Evil: xxxx"),
        ("raise RuntimeError('a\\x1b[2J\\u202eb\\nc')", "RuntimeError: a [2J b c"),
        ("raise RuntimeError('\\ud800')", "RuntimeError"),
        ("raise KeyError('k')", "KeyError: the key 'k' is not there"),
        ("raise BaseException('base')", "BaseException: base"),
        ("raise type('A' * 9999, (Exception,), {})", "AAAA"),
        ("raise KeyError(type('E', (), {'__repr__': lambda s: 1 / 0})())", "KeyError"),
        ("raise SyntaxError(type('E', (), {'__str__': lambda s: 1 / 0})())", "SyntaxError"),
        ("e = SyntaxError('m')\ne.filename = []\nraise e", "SyntaxError: m"),
        (
            "e = SyntaxError('m')\ne.filename, e.lineno = '" + FILE + "', 'x'\nraise e",
            "SyntaxError",
        ),
        ("raise MemoryError", "MemoryError"),
        ("raise StopIteration", "StopIteration"),
        ("raise GeneratorExit", "GeneratorExit"),
    ],
    ids=[
        "__str__ raises",
        "__str__ exits",
        "__str__ of a number",
        "endless text",
        "control characters",
        "surrogate",
        "key",
        "base exception",
        "long name",
        "key whose repr raises",
        "syntax error whose text raises",
        "syntax error of no file",
        "syntax error of no line",
        "memory",
        "stop",
        "generator exit",
    ],
)
def test_evil_exception_is_one_short_line(body: str, said: str, grade_text: GradeText) -> None:
    message = message_of(body, grade_text)
    assert said in message
    assert message.isprintable()
    assert len(message) < 1000


def test_error_in_an_earlier_exercise_names_its_file(grade_text: GradeText) -> None:
    text = solution("exercise7")
    mistaken = edited(
        solution("exercise4"),
        ("        activated = self", "        1 / 0\n        activated = self"),
    )
    texts = {"exercise7": text, "exercise3": solution("exercise3"), "exercise4": mistaken}
    texts |= {"exercise1": RIGHT, "exercise5": solution("exercise5")}
    result = grade_text(texts)
    message = find_check(result, "build_classifier/shape").message
    assert "ZeroDivisionError: division by zero at exercise4_feed_forward.py, line" in message
    assert_target_full(result, "TransformerClassifier")


def test_notebook_error_names_its_cell_and_line(grade: Any, tmp_path: Path) -> None:
    cells = [RIGHT, "def self_attention(x):\n    return x @ missing\n"]
    book = {
        "cells": [
            {
                "cell_type": "code",
                "metadata": {},
                "source": c,
                "outputs": [],
                "execution_count": None,
            }
            for c in cells
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    path = tmp_path / "exercise1_attention.ipynb"
    path.write_text(json.dumps(book), encoding="utf-8")
    message = find_check(grade(path, "exercise1"), "self_attention/shape").message
    assert "at exercise1_attention.ipynb, cell 2, line 2: `return x @ missing`" in message


# ---- earlier exercises -------------------------------------------------------------------------

HEAD = "from exercise1_attention import scaled_dot_product_attention as attend\n"


@pytest.mark.parametrize(
    "line",
    [
        HEAD,
        "import exercise1_attention\n\nattend = exercise1_attention.scaled_dot_product_attention\n",
        "import exercises.exercise1_attention as first\n\n"
        "attend = first.scaled_dot_product_attention\n",
        "from exercises import exercise1_attention as first\n\n"
        "attend = first.scaled_dot_product_attention\n",
        "from exercises.exercise1_attention import scaled_dot_product_attention as attend\n",
        "from .exercise1_attention import scaled_dot_product_attention as attend\n",
        "from exercise1 import scaled_dot_product_attention as attend\n",
        "from exercise1_attention import *\n\nattend = scaled_dot_product_attention\n",
    ],
    ids=["from", "import", "dotted", "package", "from package", "relative", "short", "star"],
)
def test_stand_in_is_served_to_every_form_of_import(line: str, grade_text: GradeText) -> None:
    text = (SUBMISSIONS / "perfect/exercise3_multi_head.py").read_text(encoding="utf-8")
    assert_full(grade_text({"exercise3": edited(text, (HEAD, line))}))


@pytest.mark.parametrize("exercise", ["exercise2", "exercise3"])
def test_own_mistake_of_exercise1_costs_once(exercise: str, grade_text: GradeText) -> None:
    mistaken = edited(RIGHT, ("* scale)", ")"))
    assert_full(grade_text({exercise: solution(exercise), "exercise1": mistaken}))


def test_later_exercise_cannot_be_imported(grade_text: GradeText) -> None:
    result = grade_text({"exercise1": "import exercise2_qkv_projection\n" + RIGHT})
    assert "No module named 'exercise2_qkv_projection'" in (
        find_check(result, "self_attention/shape").message
    )


def classifier_with(grade_text: GradeText, **changed: str) -> ExerciseResult:
    """Grade the reference of exercise 7 beside the references, some of them changed."""
    own = {f"exercise{i}": solution(f"exercise{i}") for i in (7, 1, 2, 3, 4, 5, 6)}
    return grade_text({**own, **changed})


def test_build_classifier_uses_the_submissions_own(grade_text: GradeText) -> None:
    spare = edited(
        solution("exercise4"),
        (
            "        self.dropout = ",
            "        self.spare = nn.Linear(3, 3)\n        self.dropout = ",
        ),
    )
    result = classifier_with(grade_text, exercise4=spare)
    assert_target_full(result, "TransformerClassifier")
    check = find_check(result, "build_classifier/property/registered")
    assert "spare`, which nobody asked for" in check.message


def test_build_classifier_without_an_earlier_exercise_says_so(grade_text: GradeText) -> None:
    own = {f"exercise{i}": solution(f"exercise{i}") for i in (7, 1, 2, 3, 5, 6)}
    result = grade_text(own)
    assert_target_full(result, "TransformerClassifier")
    assert "exercise4_feed_forward" in find_check(result, "build_classifier/shape").message


def test_what_is_a_stub_itself_needs_no_earlier_exercise_yet(grade_text: GradeText) -> None:
    text = (SUBMISSIONS / "stub/exercise7_classifier.py").read_text(encoding="utf-8")
    check = find_check(grade_text({"exercise7": text}), "build_classifier/shape")
    assert check.status is Status.FAILED
    assert "`build_classifier` is not written yet" in check.message


def test_module_without_forward_is_unwritten_before_it_lacks_layers(grade_text: GradeText) -> None:
    text = solution("exercise10")
    body = text.partition("        t = tokens.size(1)")[2].partition("        return logits")[0]
    text = text.replace(
        f"        t = tokens.size(1){body}        return logits",
        "        raise NotImplementedError",
    )
    text = edited(text, ("        self.norm = nn.LayerNorm(embed_dim)\n", ""))
    result = grade_text({"exercise10": text})
    assert "is not written yet" in find_check(result, "LanguageModel/shape").message
    assert [d.sentence for d in result.diagnoses if d.target == "LanguageModel"] == []


def test_build_classifier_waits_for_an_unwritten_exercise(grade_text: GradeText) -> None:
    stub = (SUBMISSIONS / "stub/exercise4_feed_forward.py").read_text(encoding="utf-8")
    result = classifier_with(grade_text, exercise4=stub)
    check = find_check(result, "build_classifier/shape")
    assert check.status is Status.SKIPPED
    assert "needs an earlier exercise that is not written yet" in check.message


def test_stand_ins_are_not_there_for_the_exercise_itself(grade_text: GradeText) -> None:
    text = "from exercise1_attention import *\n\n" + RIGHT.replace("def self_attention", "def mine")
    check = find_check(grade_text({"exercise1": text}), "self_attention/shape")
    assert "`self_attention` is not defined" in check.message


# ---- what the child is given -------------------------------------------------------------------


@pytest.mark.parametrize(
    "probe",
    [
        "import os\nassert 'HOME' not in os.environ and 'GRADE_CACHE' not in os.environ",
        "import os\nassert os.listdir('.') == []",
        "import sys\nassert '' not in sys.path and not any('work' in p for p in sys.path[:1])",
        "import sys\nassert sys.stdin.read() == ''",
        "import os\ntry:\n    open('f', 'w').write('x' * 99999)\n    assert False\n"
        "except OSError:\n    pass",
        "import sys\nassert not [m for m in sys.modules if m.startswith(('grader.key',"
        " 'grader.compare', 'grader.course'))]",
        "import torch\nassert torch.get_default_dtype() in (torch.float64, torch.float32)",
    ],
    ids=["environment", "folder", "path", "input", "files", "modules", "dtype"],
)
def test_child_is_given_nothing_of_value(probe: str, grade_text: GradeText) -> None:
    assert_full(grade_text({"exercise1": with_body(probe)}))


def test_what_grader_takes_between_runs_is_not_the_files_time(
    folder: CourseFolder, keys: Keys, warm: WarmProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs of bugs may have to be built first: the rounds after that still have their time."""
    real, taken = time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: real() + taken[0])

    def slow(_: str) -> dict[str, Suspects]:
        taken[0] += 1000
        return {}

    (file,) = (ROOT / "tests" / "real_code" / "biases-and-no-transpose").glob("*.py")
    exercise = folder.course.exercise("exercise3")
    units = ((file.name, file.read_text(encoding="utf-8")),)
    work = Submission({"exercise3": Source(file.name, units)})
    engine = Engine(folder, replace(keys, pairs=slow), Standins.of(folder), warm)
    result = engine.run(exercise, work, quick=True).result
    assert taken[0] >= 1000
    (found,) = result.diagnoses
    assert "`head_dim` is not used" in found.sentence
