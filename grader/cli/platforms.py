"""The commands that work with other platforms: scores for them, Gradescope, and nbgrader."""

import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.batch.database import DATABASE
from grader.bundle.gradescope import Settings, Visibility, make_autograder, read_settings
from grader.classes.export import ExportedFile, Format, export_scores
from grader.classes.scores import Scores
from grader.cli.batch import cores
from grader.cli.shared import ProgressBar
from grader.course.load import find_course, load_course
from grader.errors import UsageError, writing
from grader.execute.isolation import Level, choose_for_class
from grader.execute.launch import WarmProcess
from grader.grading.engine import open_engine
from grader.handin.read import read_submission
from grader.nbgrader import needs_nbgrader
from grader.records.text import counted, printable
from grader.report.gradescope import results_json
from grader.report.layout import columns

if TYPE_CHECKING:
    from grader.nbgrader.autograde import AutogradeSummary


# ---- scores --------------------------------------------------------------------------------------


_GRADEBOOK = "gradebook.db"


@dataclass(frozen=True)
class ExportRequest:
    """What `grade export` was asked for."""

    source: Path
    assignment: str
    to: str
    output: Path
    template: Path | None = None
    part: str = ""


def run_export(request: ExportRequest) -> int:
    """Write a source's scores in a format; returns the exit status."""
    scores = _read(request.source, request.assignment)
    if request.part:
        scores = scores.of_part(request.part)
    export = export_scores(scores, Format(request.to), request.template)
    for file in export.files:
        _write(request.output / file.name if file.name else request.output, file)
    students = counted(len(scores.students), "student")
    click.echo(f"wrote {request.output}: {students}, {request.to}")
    if scores.origin:
        click.echo(printable(scores.origin), err=True)
    for note in (*scores.notes, *export.notes):
        click.echo(f"note: {printable(note)}")
    return 0


def _read(source: Path, assignment: str) -> Scores:
    """Read a gradebook, a results folder, or a folder with one of them."""
    known = [source / name for name in (_GRADEBOOK, DATABASE)] if source.is_dir() else [source]
    found = [path for path in known if path.is_file()]
    if len(found) != 1:
        what = f"holds both {_GRADEBOOK} and {DATABASE}" if found else "is neither"
        raise UsageError(
            f"{source} {what}: name nbgrader's {_GRADEBOOK}, or the RESULTS folder of grade batch"
        )
    if found[0].name == DATABASE:
        from grader.classes.graded import read_results

        return read_results(found[0].parent, assignment)
    with needs_nbgrader():
        from grader.nbgrader.gradebook import read_scores

    return read_scores(found[0], assignment)


def _write(path: Path, file: ExportedFile) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")


# ---- Gradescope ----------------------------------------------------------------------------------


def run_build(
    into: Path,
    course: Path | None,
    part: str,
    visibility: str,
    isolation: str | None,
    torch_index: str,
) -> str:
    """Write the autograder's zip, and return what to say of it."""
    if into.suffix != ".zip":
        raise UsageError(f"{into}: name a file that ends in .zip")
    folder = load_course(find_course(course))
    settings = Settings(visibility=Visibility(visibility), part=part, isolation=isolation or "")
    with ProgressBar() as progress:
        progress.expect(len(folder.course.exercises))
        data = make_autograder(folder, settings, torch_index=torch_index, on_built=progress.advance)
    with writing(into):
        into.parent.mkdir(parents=True, exist_ok=True)
        into.write_bytes(data)
    return _told_of_zip(into, data, torch_index)


def _told_of_zip(into: Path, data: bytes, torch_index: str) -> str:
    """Say what was written, and what to do with it."""
    lines = [
        f"{into}: {len(data) / 2**20:.1f} MiB, with the hidden cases and no line of a solution.",
        "Give it to Gradescope alone: whoever has it has the hidden cases.",
    ]
    if not torch_index:
        lines.append("torch will come with GPU libraries of several GB; --torch-index avoids that.")
    return "\n".join(lines)


def run_submission(root: Path) -> int:
    """Grade what a platform put below `root`, and write results.json there.

    Nothing is written where grading itself fails: the platform then tells the staff, and nobody
    has a score that is none.
    """
    begun = time.monotonic()
    results = root / "results" / "results.json"
    with writing(results):
        results.parent.mkdir(exist_ok=True)
        results.unlink(missing_ok=True)
    settings = read_settings(root / "source")
    level = choose_for_class(Level(settings.isolation) if settings.isolation else None)
    folder = load_course(root / "source" / "course")
    exercises = folder.course.part(settings.part).exercises
    limit = folder.course.limits.source_kib * 1024
    submission = read_submission(root / "submission", folder.course, list(exercises), limit)
    warm = WarmProcess(level)
    try:
        engine = open_engine(folder, exercises, warm, hidden=True, trains=True)
        document = engine.document(exercises, submission)
    finally:
        warm.close()
    seconds = time.monotonic() - begun
    text = results_json(document, settings.visibility, seconds=seconds, notes=submission.notes)
    with writing(results):
        results.write_text(text, encoding="utf-8")
    click.echo(f"{document.score:g} of {document.max_score:g} points; isolation: {level}")
    return 0


# ---- nbgrader ------------------------------------------------------------------------------------


def run_init(
    directory: Path, course: Path | None, assignment: str, *, part: str = "", restore: bool
) -> int:
    """Write or update a course directory; status 1 where something conflicts.

    An assignment without a name is called by the beginning of the course's title, and by its part.
    A directory that was made before knows its course.
    """
    with needs_nbgrader():
        import nbgrader  # noqa: F401 - asked for only to say early that it is missing

        from grader.nbgrader.init import init_directory
        from grader.notebook.finding import INIT_MANIFEST, course_near

    if course is None and (directory / INIT_MANIFEST).is_file():
        folder = course_near(directory)
    else:
        folder = load_course(find_course(course))
    assignment = assignment or "-".join(filter(None, [_short_name(folder.course.title), part]))
    changes = init_directory(directory, folder.of_part(part), assignment, restore=restore)
    told = [(change.what, change.path) for change in changes if change.what != "unchanged"]
    if told:
        click.echo("\n".join(columns(told, "<<")))
    return _say_next(directory, assignment, Counter(change.what for change in changes))


def _say_next(directory: Path, assignment: str, counts: Counter[str]) -> int:
    """Say what is to be done after `init`; returns the exit status."""
    from grader.nbgrader.init import CONFLICTS

    if counts["removed"]:
        click.echo("\nWhat you removed stays away; --restore writes it again.")
    if counts["conflict"]:
        files = "1 file was" if counts["conflict"] == 1 else f"{counts['conflict']} files were"
        click.echo(
            f"\n{files} changed both by the course and by you; yours stays. The course's is in "
            f"{directory / CONFLICTS}: take over what you want and delete it there."
        )
        return 1
    if counts["wrote"] or counts["updated"]:
        again = " --force" if counts["updated"] else ""  # else nbgrader leaves the old release
        click.echo(f"\nnext: cd {directory} && nbgrader generate_assignment {assignment}{again}")
    elif not counts["kept"]:
        click.echo("nothing to do")
    return 0


def _short_name(title: str) -> str:
    words = re.split(r"[,:;.(]", title)[0].lower()
    return "-".join(re.findall(r"[a-z0-9]+", words)) or "assignment"


def run_autograde(
    directory: Path,
    assignment: str,
    student: str,
    jobs: int | None,
    *,
    memory: int | None,
    isolation: str | None,
    force: bool,
    public: bool,
) -> int:
    """Grade a class into the gradebook; status 1 where a person is needed."""
    with needs_nbgrader():
        from grader.nbgrader.autograde import AutogradeRequest, autograde

    level = Level(isolation) if isolation else None
    request = AutogradeRequest(
        directory, assignment, student, force, public, jobs or cores(), level, memory
    )
    with ProgressBar(rate_of="students") as progress:
        outcome = autograde(request, progress)
    _report(assignment, outcome)
    if outcome.admission:
        click.echo(outcome.admission, err=True)
    return int(bool(outcome.problems))


def _report(assignment: str, outcome: "AutogradeSummary") -> None:
    skipped = f", {len(outcome.skipped)} graded before" if outcome.skipped else ""
    click.echo(f"{assignment}: {len(outcome.graded)} graded{skipped}")
    for title, notes in (("Noted", outcome.notes), ("For a person", outcome.problems)):
        if notes:
            click.echo(f"\n{title}:")
            ordered = sorted(notes, key=lambda note: note.student)  # they came as they were done
            rows = [
                (n.student if n.student.isprintable() else ascii(n.student), n.text)
                for n in ordered
            ]
            click.echo("\n".join(columns(rows, "<<", indent=2)))
