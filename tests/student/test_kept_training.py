"""What a training came to is kept as long as all that it reads is the same."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support import ROOT

from grader.course.load import load_course
from grader.grading.engine import Engine
from grader.grading.training_text import read_by_trainings
from grader.handin.choose import read_work
from grader.records.results import Status
from grader.report.runs import render_receipt
from grader.student.findings import Findings
from grader.student.pack import pack_work

_FILE = "exercise12_training.py"
_TEXT = (ROOT / "solutions" / _FILE).read_text(encoding="utf-8")
_BOTH = {"build_digit_classifier", "build_text_model"}
_HELPER = "\n\ndef spread(table):\n    nn.init.normal_(table.weight, std=0.02)\n"
_LAYER = "\n\nclass Rows(nn.Module):\n    def forward(self, x):\n        return x\n"


@pytest.fixture(autouse=True)
def _seal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the seal out of the home of whoever runs the tests."""
    monkeypatch.setattr("platformdirs.user_cache_path", lambda _: tmp_path / "cache")


def _put(course: Path, file: str, text: str) -> None:
    (course / "exercises" / file).write_text(text, encoding="utf-8")


def _solve(course: Path) -> None:
    for file in (ROOT / "solutions").glob("exercise*.py"):
        _put(course, file.name, file.read_text(encoding="utf-8"))


def _read(course: Path) -> dict[str, str]:
    folder = load_course(course)
    chosen = folder.course.exercise("exercise12")
    return read_by_trainings(folder, chosen, read_work(folder, None, [chosen]))


def _moved(course: Path, change: Callable[[Path], None]) -> set[str]:
    """Return the targets whose training reads something else after a change."""
    _solve(course)
    before = _read(course)
    change(course)
    after = _read(course)
    return {target for target in before if before[target] != after[target]}


def _edit(old: str, new: str, file: str = _FILE) -> Callable[[Path], None]:
    def change(course: Path) -> None:
        text = (course / "exercises" / file).read_text(encoding="utf-8")
        assert old in text
        _put(course, file, text.replace(old, new))

    return change


_RATE = "return peak * (step + 1) / warmup"
_STEP = "    optimizer.step()\n"
ELSEWHERE = {
    "a comment": _edit("# small, so that", "# as small as possible, so that"),
    "another target": _edit(_RATE, "return peak * step / warmup"),
    "a default that is a number": _edit("max_norm: float = 1.0,", "max_norm: float = 2.0,"),
    "a helper of another target": _edit(_STEP, f"    helper()\n{_STEP}"),
    "a new function that nothing calls": _edit("# %%\ndef learning_rate", f"{_HELPER}\n\n\n"
                                               "# %%\ndef learning_rate"),
    "a new layer that nothing makes": _edit("# %%\ndef learning_rate", f"{_LAYER}\n\n\n"
                                            "# %%\ndef learning_rate"),
    "an exercise that is not imported": _edit(
        "training = model.training", "training = bool(model.training)", "exercise11_generation.py",
    ),
}  # fmt: skip
_DIGITS, _WORDS = {"build_digit_classifier"}, {"build_text_model"}
READ = {
    "the target": (_edit("(vocab_size, 64, 4, 2, 48)", "(vocab_size, 32, 4, 2, 48)"), _WORDS),
    "the other one": (_edit("DigitClassifier(48, 4, 2)", "DigitClassifier(64, 4, 2)"), _DIGITS),
    "an import": (_edit("import math\n", "import math\nimport random\n"), _BOTH),
    "what runs at the top": (_edit("import math\n", "import math\nSIZE = 3\n"), _BOTH),
    "a default that is computed": (
        _edit("max_norm: float = 1.0,", "max_norm: float = float(torch.rand(1)),"), _BOTH,
    ),
    "what both build on": (_edit("x @ x", "x @ x + 0", "exercise1_attention.py"), _BOTH),
    "an exercise that both import": (
        _edit("self.dropout = ", "self.rate = 0\n        self.dropout = ",
              "exercise4_feed_forward.py"), _BOTH,
    ),
    "an exercise behind an imported one": (
        _edit("hidden = ~mask", "hidden = mask.logical_not()", "exercise8_masks.py"), _BOTH,
    ),
    "text that is not plain": (
        _edit(_RATE, "return globals()['peak'] * (step + 1) / warmup"), _BOTH,
    ),
    "another file that is not plain": (
        _edit("training = model.training", "training = eval('model.training')",
              "exercise11_generation.py"), _BOTH,
    ),
    "text that is no Python": (_edit(_RATE, "return ("), _BOTH),
}  # fmt: skip


@pytest.mark.parametrize("change", ELSEWHERE.values(), ids=ELSEWHERE)
def test_training_does_not_read(course: Path, change: Callable[[Path], None]) -> None:
    assert _moved(course, change) == set()


@pytest.mark.parametrize(("change", "moved"), READ.values(), ids=READ)
def test_training_reads(course: Path, change: Callable[[Path], None], moved: set[str]) -> None:
    assert _moved(course, change) == moved


def test_helper_of_a_trained_target_is_read(course: Path) -> None:
    helped = _TEXT.replace("# %%\ndef build_text_model", f"{_HELPER}\n\ndef build_text_model")
    called = helped.replace(
        "        nn.init.normal_(table.weight, std=0.02)", "        spread(table)"
    )

    def change(folder: Path) -> None:
        _put(folder, _FILE, called.replace("std=0.02", "std=0.5"))

    _solve(course)
    _put(course, _FILE, called)
    before = _read(course)
    change(course)
    after = _read(course)
    assert {target for target in before if before[target] != after[target]} == _WORDS


def _findings(course: Path, engine: Engine) -> Findings:
    return Findings(load_course(course), lambda: engine, own=True)


def _graded(findings: Findings) -> dict[str, Status]:
    """Grade exercise 12 and keep it; return how its trainings stand."""
    folder = findings.folder
    chosen = folder.course.exercise("exercise12")
    (found,) = findings.of([chosen], read_work(folder, None, [chosen]))
    findings.keep()
    return {c.target: c.status for c in found.result.checks if c.id.name == "learns"}


def _train(course: Path, engine: Engine) -> None:
    """Keep trainings that were passed, without training."""
    findings = _findings(course, engine)
    _graded(findings)
    folder = findings.folder
    chosen = folder.course.exercise("exercise12")
    submission = read_work(folder, None, [chosen])
    (found,) = findings.of([chosen], submission)
    checks = tuple(
        replace(c, status=Status.PASSED, score=c.max_score, message="", next_step="", waits=False)
        if c.waits else c for c in found.result.checks
    )  # fmt: skip
    findings.graded.append(
        (submission, replace(found, result=replace(found.result, checks=checks)))
    )
    findings.keep()


def test_training_is_kept_where_another_target_changes(
    course: Path, shipped_engine: Engine
) -> None:
    _solve(course)
    _train(course, shipped_engine)
    _edit(_RATE, "return peak * step / warmup")(course)
    assert set(_graded(_findings(course, shipped_engine)).values()) == {Status.PASSED}
    _edit("(vocab_size, 64, 4, 2, 48)", "(vocab_size, 32, 4, 2, 48)")(course)
    left = _graded(_findings(course, shipped_engine))
    assert left == {"build_digit_classifier": Status.PASSED, "build_text_model": Status.SKIPPED}


def test_pack_says_what_is_not_trained_in_this_text(course: Path, shipped_engine: Engine) -> None:
    _solve(course)
    _train(course, shipped_engine)
    _edit("(vocab_size, 64, 4, 2, 48)", "(vocab_size, 32, 4, 2, 48)")(course)
    findings = _findings(course, shipped_engine)
    chosen = findings.folder.course.exercise("exercise12")
    packed = pack_work(findings, course / "exercises", [chosen])
    assert packed.receipt.exercises[0].waits == ("build_text_model",)
    told = " ".join(render_receipt(packed.receipt, "mine.zip").split())
    assert "not trained as it is here: build_text_model; `grade train exercise12` does it" in told
