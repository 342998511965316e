"""The commands that help a student along: read, hint, explain, compare, reset and pack."""

import shlex
import shutil
import webbrowser
from pathlib import Path

import click

from grader.cli.course import Desk, open_desk
from grader.cli.request import screen_width
from grader.course.load import find_course, load_course
from grader.course.models import Exercise
from grader.errors import UsageError, writing
from grader.handin.choose import chosen_exercises
from grader.handin.read import Source
from grader.records.text import ended
from grader.report.layout import wrapped


def run_read(typed: str, course: Path | None, html: Path | None) -> str:
    """Write the lesson as a page, open it where no file is named, and say where it is."""
    from grader.report.lesson import render_lesson
    from grader.student.stubs import untouched_stub
    from grader.student.tries import questions_of

    folder = load_course(find_course(course))
    (exercise,) = chosen_exercises(folder, [typed])
    stub, questions = untouched_stub(folder, exercise), questions_of(folder, exercise)
    page = render_lesson(f"{exercise.id}: {exercise.title}", stub, questions)
    path = html or folder.root / ".grade" / "lessons" / f"{exercise.id}.html"
    with writing(path):
        if html is None:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    if html is None:
        webbrowser.open(path.resolve().as_uri())  # which opens none where there is no screen
    return f"the lesson is in {click.format_filename(path)}"


def run_hint(typed: str, course: Path | None, submission: Path | None) -> str:
    """Grade the exercise, and tell the next hint on the first thing that is not right."""
    from grader.grading.engine import public_key
    from grader.report.hint import render_told
    from grader.student.hints import take_hint
    from grader.student.progress import remember_result

    with open_desk([typed], course, submission) as desk:
        (exercise,) = desk.exercises
        (found,) = desk.findings.of(desk.exercises, desk.submission)
        result, source = found.result, desk.submission.source(exercise)
        key = public_key(desk.folder, exercise)
    if submission is None:
        remember_result(desk.folder, result, source)
    if source.problem:
        return _unread(exercise, source)
    told = take_hint(desk.folder, exercise, key, result)
    given = exercise.id
    if submission is not None:
        given += f" --submission {shlex.quote(click.format_filename(submission))}"
    kept, width = desk.folder.shipped, screen_width()
    return render_told(told, given, notebook=source.notebook, kept=kept, width=width)


def _unread(exercise: Exercise, source: Source) -> str:
    """Why a file cannot be graded, and what to do."""
    lines = wrapped(ended(f"{exercise.id}: {source.problem}"), screen_width(), hang=2)
    if source.next_step:
        lines += wrapped(ended(source.next_step), screen_width(), first="  next  ", hang=8)
    return "\n".join(lines)


def run_explain(typed: str, course: Path | None, submission: Path | None, target: str) -> str:
    """Record the run of one target, the first that is not right where none is named."""
    from grader.report.trace import render_run
    from grader.student.hints import target_to_explain

    with open_desk([typed], course, submission) as desk:
        (exercise,) = desk.exercises
        source = desk.submission.source(exercise)
        if source.problem:
            return _unread(exercise, source)
        (found,) = desk.findings.of(desk.exercises, desk.submission)
        chosen = target_to_explain(exercise, found.result, target)
        trace = found.traces[chosen]  # a run of its own where nothing was kept
    return render_run(trace, exercise.id, chosen, width=screen_width())


def run_compare(typed: str, course: Path | None, submission: Path | None) -> str:
    """Lay the student's own code beside the solution; raises UsageError where it is not there."""
    from grader.bundle.solutions import released_solution
    from grader.report.compare import render_comparison
    from grader.student.compare import compare

    with open_desk([typed], course, submission) as desk:
        (exercise,) = desk.exercises
        solution = released_solution(desk.folder, exercise)
        if solution is None:
            raise UsageError(
                f"the solution of {exercise.id} is not released yet: your instructor does that, "
                "after the deadline. Then take the new bundle: grade start . --renew --bundle FILE"
            )
        source = desk.submission.source(exercise)
        if source.problem:
            return _unread(exercise, source)
        (found,) = desk.findings.of(desk.exercises, desk.submission)
    compared = compare(desk.folder.course, exercise, source, solution, found.result)
    return render_comparison(exercise.id, compared, width=screen_width())


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
