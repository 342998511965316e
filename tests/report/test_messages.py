"""Every message that a student can see, a golden file a kind: read them when they change.

A message says what happened, where, and what next; it knows no jargon of ours and blames nobody.
"""

import contextlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
import pytest
from support import GOLDEN, SUBMISSIONS

from grader.cli import main as program
from grader.course.lesson import read_lesson
from grader.course.load import load_course
from grader.course.shipped import MANIFEST
from grader.files import zipped
from grader.grading.engine import Engine
from grader.grading.trace import trace_target
from grader.handin.read import read_submission
from grader.records.results import Status
from grader.report.explained import render_run
from grader.report.runs import render_receipt, render_turn
from grader.report.student import render_told
from grader.report.terminal import render_document
from grader.student.findings import Findings
from grader.student.hints import Told, next_hint
from grader.student.pack import pack_work
from grader.student.progress import remember_result
from grader.student.watch import Change, Turn

_FILE = "exercise3_multi_head.py"
_JARGON = ("safetensors", "warm", "Traceback", "None", "pydantic", "evidence", "cotangent")
Prepare = Callable[[Path], None]


def _compare(kind: str, text: str, request: pytest.FixtureRequest) -> None:
    path = GOLDEN / "messages" / f"{kind}.txt"
    text = "".join(f"{line.rstrip()}\n" for line in click.unstyle(text).splitlines())
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text
    assert [word for word in _JARGON if f" {word} " in text] == []


def _nothing(_: Path) -> None:
    """Leave the course as it is."""


def _append(name: str, text: str) -> Prepare:
    def act(course: Path) -> None:
        path = course / name
        path.write_text(path.read_text("utf-8") + text, encoding="utf-8")

    return act


def _prepend(name: str, text: str) -> Prepare:
    """Write above the text, where no line number grows with the file."""

    def act(course: Path) -> None:
        path = course / name
        path.write_text(text + path.read_text("utf-8"), encoding="utf-8")

    return act


def _remove(name: str) -> Prepare:
    def act(course: Path) -> None:
        path = course / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return act


def _manifest(**fields: object) -> Prepare:
    def act(course: Path) -> None:
        path = course / MANIFEST
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **fields}))

    return act


def _damaged_zip(course: Path) -> None:
    (course / "bad.zip").write_bytes(b"PK nothing")


def _other_zip(course: Path) -> None:
    files = {p.relative_to(course).as_posix(): p.read_bytes() for p in course.rglob("*.*")}
    files[MANIFEST] = json.dumps({**json.loads(files[MANIFEST]), "course": "Knitting"}).encode()
    (course / "other.zip").write_bytes(zipped(files))


_COMMANDS = [
    ("no-course-here", _nothing, "..", "list"),
    ("not-a-course", _nothing, ".", "list --course exercises"),
    ("course-yml-missing", _remove("course.yml"), ".", "list"),
    ("course-yml-unreadable", _prepend("course.yml", "extra: 1\n"), ".", "list"),
    ("course-yml-edited", _append("course.yml", "# mine\n"), ".", "check exercise3"),
    ("key-missing", _remove("key"), ".", "check exercise3"),
    ("key-part-missing", _remove("key/exercise3.public.json"), ".", "check exercise3"),
    ("key-part-edited", _append("key/exercise3.public.json", " "), ".", "check exercise3"),
    ("standins-missing", _remove("key/standins.json"), ".", "check exercise3"),
    ("bundle-older", _manifest(format_version=0, grader="0.0.9"), ".", "check exercise3"),
    ("bundle-newer", _manifest(format_version=99, grader="9.0.0"), ".", "check exercise3"),
    ("unknown-command", _nothing, ".", "chek exercise3"),
    ("unknown-exercise", _nothing, ".", "check exercise33"),
    ("nothing-named", _nothing, ".", "check"),
    ("watch-with-json", _nothing, ".", "check 3 --watch --json"),
    ("submission-missing", _nothing, ".", "check exercise3 --submission nowhere.py"),
    ("explain-unknown-target", _nothing, ".", "explain exercise3 fold"),
    ("start-course-there", _nothing, "..", "start my-transformer --bundle my-transformer"),
    ("start-folder-there", _nothing, "..", "start my-transformer/key --bundle my-transformer"),
    ("start-no-bundle", _nothing, ".", "start new --bundle exercises"),
    ("start-damaged-zip", _damaged_zip, ".", "start new --bundle bad.zip"),
    ("start-renew-another", _other_zip, ".", "start . --renew --bundle other.zip"),
    ("start-renew-nothing", _nothing, "..", "start new --renew --bundle my-transformer"),
    ("started", _nothing, "..", "start new --bundle my-transformer"),
    ("renewed", _nothing, "..", "start my-transformer --renew --bundle my-transformer"),
    ("list-fresh", _nothing, ".", "list"),
    ("reset", _nothing, ".", "reset exercise3"),
]


@pytest.mark.parametrize(
    ("kind", "prepare", "where", "command"), _COMMANDS, ids=[c[0] for c in _COMMANDS]
)
def test_command_says_what_and_what_next(
    kind: str,
    prepare: Prepare,
    where: str,
    command: str,
    course: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    prepare(course)
    monkeypatch.chdir(course / where)
    monkeypatch.setattr("sys.argv", ["grade", *command.split()])
    with contextlib.suppress(SystemExit):
        program.main()
    shown = capsys.readouterr()
    text = f"{shown.out}{shown.err}".replace(str(course.parent.resolve()), "").replace("//", "/")
    _compare(kind, f"$ grade {command}\n\n{text}", request)


# --- reports -----------------------------------------------------------------------------------


def _write(name: str, text: str) -> Prepare:
    def act(place: Path) -> None:
        (place / _FILE).unlink(missing_ok=True)
        (place / name).write_text(text, encoding="utf-8", newline="")

    return act


def _sample(name: str, file: str = _FILE, to: str = "") -> Prepare:
    def act(place: Path) -> None:
        (place / (to or _FILE)).unlink(missing_ok=True)
        (place / _FILE).unlink(missing_ok=True)
        (place / (to or file)).write_bytes((SUBMISSIONS / name / file).read_bytes())

    return act


def _two_copies(place: Path) -> None:
    _sample("perfect")(place)
    (place / "exercise3_multi_head.ipynb").write_text("{}")


def _fold(body: str) -> str:
    return f"import torch\n\n\ndef fold_heads(x, num_heads):\n    {body}\n"


_REPORTS = [
    ("not-written-yet", _nothing),
    ("right", _sample("perfect")),
    ("known-bug", _sample("keys-from-queries")),
    ("unknown-mistake", _sample("constant")),
    ("file-missing", lambda place: (place / _FILE).unlink()),
    ("file-renamed", _sample("perfect", to="exercise3_multihead.py")),
    ("two-copies", _two_copies),
    ("not-utf8", _sample("not-utf8")),
    ("does-not-parse", _sample("does-not-parse")),
    ("misspelt-target", _sample("misspelt")),
    ("wrong-constructor", _sample("nn-module")),
    ("forward-nested", _sample("nested-forward")),
    ("crash", _sample("crash")),
    ("delegates", _sample("delegates")),
    ("float32", _sample("float32")),
    ("notebook-broken", _write("exercise3_multi_head.ipynb", "{")),
    ("windows-line-ends", _write(_FILE, _fold("return x.nope()").replace("\n", "\r\n"))),
    ("exception", _write(_FILE, _fold("return x.reshape(7, 7)"))),
    ("unknown-attribute", _write(_FILE, _fold("return x.reshap(7, 7)"))),
    ("wrong-shape", _write(_FILE, _fold("return x"))),
    ("returns-none", _write(_FILE, _fold("y = x"))),
    ("prints", _write(_FILE, _fold("print('shape', x.shape); return x"))),
]


@pytest.mark.parametrize(("kind", "prepare"), _REPORTS, ids=[r[0] for r in _REPORTS])
def test_report_says_what_where_and_what_next(
    kind: str,
    prepare: Prepare,
    shipped_engine: Engine,
    course: Path,
    request: pytest.FixtureRequest,
) -> None:
    prepare(course / "exercises")
    chosen = shipped_engine.folder.course.exercise("exercise3")
    place = course / "exercises"
    submission = read_submission(place, shipped_engine.folder.course, [chosen], 2**21)
    result = shipped_engine.run(chosen, submission, quick=True).result
    text = render_document(shipped_engine.sum_up([result]), width=80)
    narrow = render_document(shipped_engine.sum_up([result]), width=40)
    assert max(len(line) for line in click.unstyle(narrow).splitlines()) <= 40
    _compare(f"report-{kind}", text, request)


def test_help_by_degrees_reads_well(
    shipped_engine: Engine, pristine: Path, request: pytest.FixtureRequest
) -> None:
    course = shipped_engine.folder.course
    chosen = course.exercise("exercise3")
    lesson = read_lesson((pristine / "key" / "stubs" / _FILE).read_text("utf-8"))
    texts = []
    for sample in ("stub", "keys-from-queries", "constant"):
        submission = read_submission(SUBMISSIONS / sample, course, [chosen], 2**21)
        run = shipped_engine.run(chosen, submission, quick=True)
        key = shipped_engine.keys.keys["exercise3"]
        advice = next_hint(chosen, key, run.result, lesson)
        assert advice is not None
        texts += [render_told(Told(advice, n + 1), "exercise3") for n in range(len(advice.hints))]
        target = chosen.target(advice.target)
        trace = trace_target(target, run)
        assert trace is not None
        texts.append(render_run(trace, "exercise3", trace.target) + "\n")
    _compare("hint-and-explain", "\n\n".join(texts), request)


def test_receipt_and_list_read_well(
    shipped_engine: Engine,
    shipped_findings: Findings,
    course: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    folder = load_course(course)
    packed = pack_work(shipped_findings, SUBMISSIONS / "unknown-name", folder.course.exercises)
    receipt = replace(packed.receipt, content="sha256:" + "0" * 64)
    place = course / "exercises"
    submission = read_submission(place, folder.course, folder.course.exercises, 2**21)
    for line in packed.receipt.exercises[:4]:
        exercise = folder.course.exercise(line.exercise)
        run = shipped_engine.run(exercise, submission, quick=True)
        status = Status(line.status) if line.file else Status.FAILED
        result = replace(run.result, score=line.score, status=status)
        remember_result(folder, result, submission.source(exercise))
    (place / "exercise4_feed_forward.py").write_text("x = 1")
    monkeypatch.chdir(course)
    monkeypatch.setattr("sys.argv", ["grade", "list"])
    program.main()
    text = render_receipt(receipt, "mine.zip") + "\n\n" + capsys.readouterr().out
    _compare("receipt-and-list", text, request)


def test_watch_reads_well(shipped_engine: Engine, request: pytest.FixtureRequest) -> None:
    course = shipped_engine.folder.course
    chosen = course.exercise("exercise3")
    turns = []
    for sample, change, finished, last in (
        ("stub", None, "exercise2", False),
        ("keys-from-queries", Change(7.5, ("fold_heads shape",) * 6, ()), "", False),
        ("constant", Change(-5.18, (), ("fold_heads numeric", "fold_heads gradient")), "", False),
        ("constant", Change(0, (), ()), "", False),
        ("perfect", Change(17.5, ("fold_heads numeric",), ()), "", True),
    ):
        submission = read_submission(SUBMISSIONS / sample, course, [chosen], 2**21)
        result = shipped_engine.run(chosen, submission, quick=True).result
        said = f"Question 1 waits for your guess: grade try {finished} 1" if finished else ""
        turns.append(Turn(result, change, finished, last, "part1", result.score, 100.0, said))
    _compare("watch", "\n\n".join(render_turn(turn, width=80) for turn in turns), request)
