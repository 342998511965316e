"""The commands that help a student along: read, hint, explain, reset and pack."""

import shlex
import shutil
from pathlib import Path

import click

from grader.cli.course import Desk, open_desk
from grader.cli.request import screen_width
from grader.course.load import CourseFolder, find_course, load_course
from grader.course.models import Exercise
from grader.errors import UsageError, writing
from grader.handin.choose import chosen_exercises
from grader.handin.read import Source
from grader.records.text import ended
from grader.report.layout import wrapped


def run_read(typed: str, course: Path | None, html: Path | None) -> str:
    """Write the lesson as a page, open it where no file is named, and say where it is."""
    from grader.report.lesson import render_lesson

    folder = load_course(find_course(course))
    (exercise,) = chosen_exercises(folder, [typed])
    page = render_lesson(f"{exercise.id}: {exercise.title}", _stub(folder, exercise))
    path = html or folder.root / ".grade" / "lessons" / f"{exercise.id}.html"
    with writing(path):
        if html is None:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    if html is None:
        click.launch(str(path))
    return f"the lesson is in {click.format_filename(path)}"


def run_hint(typed: str, course: Path | None, submission: Path | None) -> str:
    """Grade the exercise, and tell the next hint on the first thing that is not right."""
    from grader.course.lesson import read_lesson
    from grader.grading.engine import public_key
    from grader.report.hint import render_hint
    from grader.student.hints import next_hint
    from grader.student.progress import load_progress, remember_hint, remember_result

    with open_desk([typed], course, submission) as desk:
        (exercise,) = desk.exercises
        (found,) = desk.findings.of(desk.exercises, desk.submission)
        result, source = found.result, desk.submission.source(exercise)
        key = public_key(desk.folder, exercise)
        lesson = read_lesson(_stub(desk.folder, exercise))
    if submission is None:
        remember_result(desk.folder, result, source)
    if source.problem:
        return _unread(exercise, source)
    advice = next_hint(exercise, key, result, lesson)
    if advice is None:
        return f"{exercise.id} is complete: no hint is needed."
    topic = f"{advice.target}/{advice.topic}"
    told = load_progress(desk.folder).of(exercise.id).hints.get(topic, 0)
    degree = min(told + 1, len(advice.hints))
    remember_hint(desk.folder, exercise.id, topic, degree)
    given = exercise.id
    if submission is not None:
        given += f" --submission {shlex.quote(click.format_filename(submission))}"
    return render_hint(advice, given, degree, notebook=source.notebook, width=screen_width())


def _unread(exercise: Exercise, source: Source) -> str:
    """Why a file cannot be graded, and what to do."""
    lines = wrapped(ended(f"{exercise.id}: {source.problem}"), screen_width(), hang=2)
    if source.next_step:
        lines += wrapped(ended(source.next_step), screen_width(), first="  next  ", hang=8)
    return "\n".join(lines)


def _stub(folder: CourseFolder, exercise: Exercise) -> str:
    """The untouched lesson: the bundle's, or a source tree's stub."""
    from grader.course.shipped import read_bundle_manifest, read_part, stub_name

    if folder.shipped:
        name = stub_name(exercise.stem, notebook=False)
        return read_part(folder, read_bundle_manifest(folder), name).decode()
    try:
        return (folder.exercises / exercise.file).read_text(encoding="utf-8")
    except OSError:
        return ""


def run_explain(typed: str, course: Path | None, submission: Path | None, target: str) -> str:
    """Record the run of one target, the first that is not right where none is named."""
    from grader.records.results import Status
    from grader.report.trace import render_trace

    with open_desk([typed], course, submission) as desk:
        (exercise,) = desk.exercises
        names = [t.name for t in exercise.targets]
        if target and target not in names:
            raise UsageError(f"{exercise.id} has no '{target}'; it has {', '.join(names)}")
        source = desk.submission.source(exercise)
        if source.problem:
            return _unread(exercise, source)
        (found,) = desk.findings.of(desk.exercises, desk.submission)
    failed = [c.target for c in found.result.checks if c.status is not Status.PASSED]
    chosen = target or next(iter(failed), names[-1])
    trace = found.traces[chosen]
    if trace is None:
        return f"{exercise.id}: {chosen} has no case whose steps can be shown."
    return render_trace(trace, exercise.id, width=screen_width()).rstrip("\n")


def run_reset(typed: str, course: Path | None) -> str:
    """Put the untouched stub in the place of the student's file, which is kept."""
    from grader.course.shipped import read_bundle_manifest, read_part, stub_name
    from grader.student.progress import forget_exercise

    folder = load_course(find_course(course))
    if not folder.shipped:
        raise UsageError(
            f"{folder.root} is a course's source: reset is for folders made by `grade start`"
        )
    (exercise,) = chosen_exercises(folder, [typed])
    own = [folder.exercises / f"{exercise.stem}{suffix}" for suffix in (".py", ".ipynb")]
    present = [path for path in own if path.is_file()]
    notebook = present[:1] == own[1:]
    stub = read_part(
        folder, read_bundle_manifest(folder), stub_name(exercise.stem, notebook=notebook)
    )
    path = present[0] if present else own[0]
    with writing(path):
        kept = _keep_copy(path, folder.root / "backups") if present else None
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(stub)
    forget_exercise(folder, exercise.id)
    where = f"; what you had is in {kept.relative_to(folder.root)}" if kept else ""
    return f"{path.relative_to(folder.root)} is as it was at the start{where}."


def _keep_copy(path: Path, into: Path) -> Path:
    """Copy a file under the first free number, so that no earlier copy is lost."""
    into.mkdir(exist_ok=True)
    number = 1
    while (copy := into / f"{path.stem}.{number}{path.suffix}").exists():
        number += 1
    return Path(shutil.copyfile(path, copy))


def run_pack(
    course: Path | None, submission: Path | None, into: Path | None, part: str = ""
) -> str:
    """Write the zip to hand in, graded from its own bytes, and return the receipt."""
    from grader.report.receipt import render_receipt
    from grader.student.pack import pack_work

    with open_desk([], course, submission, part) as desk:
        packed = pack_work(desk.findings, desk.place, desk.exercises)
    path = into or Path(f"{'-'.join(filter(None, [_slug(desk), part]))}.zip")
    with writing(path):
        path.write_bytes(packed.data)
    return render_receipt(packed.receipt, click.format_filename(path), width=screen_width())


def _slug(desk: Desk) -> str:
    title = "".join(c if c.isalnum() else "-" for c in desk.folder.course.title.lower())
    return "-".join(part for part in title.split("-") if part)
