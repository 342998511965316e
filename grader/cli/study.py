"""The commands that help a student along, from start to pack."""

import shlex
import shutil
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.shared import ProgressBar, screen_width
from grader.course.load import CourseFolder, find_course, load_course
from grader.course.models import Exercise
from grader.errors import UsageError, writing
from grader.handin import aside
from grader.handin.choose import chosen_exercises, place_of_work, read_work
from grader.handin.read import Source, Submission, exercise_of
from grader.records.text import ended
from grader.report.layout import wrapped
from grader.student.findings import Findings

if TYPE_CHECKING:  # a command imports what it needs when it runs, and what grades if it grades
    from grader.execute.launch import WarmProcess
    from grader.grading.engine import Engine
    from grader.records.results import ExerciseResult
    from grader.student.watch import Turn

# ---- a student's own work ------------------------------------------------------------------------


@dataclass(frozen=True)
class Desk:
    """A student's course, one or more exercises of it, and what grades them."""

    folder: CourseFolder
    exercises: Sequence[Exercise]
    place: Path  # where the work is: a folder or one file
    submission: Submission
    findings: Findings

    @property
    def engine(self) -> "Engine":
        """What grades; torch begins to load with the first need of it."""
        return self.findings.engine


@contextmanager
def open_desk(
    typed: Sequence[str], course: Path | None, submission: Path | None = None, part: str = ""
) -> Iterator[Desk]:
    """Open the exercises that were named, all of a part or course where none was."""
    root = find_course(course)
    aside.begin()  # beside which the course is read
    folder = load_course(root)
    exercises = chosen_exercises(folder, typed, part)
    place = place_of_work(folder, submission)
    read = read_work(folder, submission, exercises)
    with ExitStack() as ending:

        def open_it() -> "Engine":
            from grader.execute.launch import WarmProcess

            warm = WarmProcess()  # torch begins to load before what grades is imported
            ending.callback(warm.close)
            return _noted(folder, exercises, warm, ending.enter_context(ProgressBar()))

        findings = Findings(folder, open_it, own=submission is None)
        yield Desk(folder, exercises, place, read, findings)
        findings.keep()


def _noted(
    folder: CourseFolder,
    exercises: Sequence[Exercise],
    warm: "WarmProcess",
    progress: ProgressBar,
) -> "Engine":
    """Open an engine, and tell what is to be said of its keys."""
    from grader.grading.engine import open_engine

    engine = open_engine(folder, exercises, warm, on_built=progress.key_step)
    progress.finish()
    for note in engine.keys.notes:
        click.echo(f"grade: {note}", err=True)
    return engine


# ---- the commands --------------------------------------------------------------------------------


def run_read(typed: str, course: Path | None, html: Path | None) -> str:
    """Write the lesson as a page, open it where no file is named, and say where it is.

    Those of the other exercises are written beside it, for pages link to each other.
    """
    folder = load_course(find_course(course))
    (exercise,) = chosen_exercises(folder, [typed])
    if html is not None:
        _write_lessons(folder, {exercise.id: html})
        return f"the lesson is in {click.format_filename(html)}"
    place = folder.root / ".grade" / "lessons"
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    paths = {one.id: place / f"{one.id}.html" for one in folder.course.exercises}
    _write_lessons(folder, paths)
    path = paths[exercise.id]
    webbrowser.open(path.resolve().as_uri())  # which opens none where there is no screen
    return f"the lesson is in {click.format_filename(path)}"


def _write_lessons(folder: CourseFolder, paths: Mapping[str, Path]) -> None:
    """Write the pages of exercises, which link to each other where there are several."""
    from grader.report.lesson import Page, render_lesson
    from grader.student.start import untouched_stub
    from grader.student.tries import questions_of

    exercises = [folder.course.exercise(identifier) for identifier in paths]
    titles = {one.id: f"{one.id}: {one.title}" for one in exercises}
    pages = [Page(paths[i].name, title) for i, title in titles.items()] if len(paths) > 1 else []
    for one in exercises:
        stub, questions = untouched_stub(folder, one), questions_of(folder, one)
        with writing(paths[one.id]):
            file = _own_file(folder, one)
            page = render_lesson(titles[one.id], stub, questions, pages, file=file)
            paths[one.id].write_text(page, encoding="utf-8")


def _own_file(folder: CourseFolder, exercise: Exercise) -> str:
    """Where a student writes an exercise, "" in a course's source."""
    names = (exercise.file, str(Path(exercise.file).with_suffix(".ipynb")))
    found = (f"exercises/{name}" for name in names if (folder.root / "exercises" / name).exists())
    return next(found, "") if folder.shipped else ""


def run_hint(
    typed: str, course: Path | None, submission: Path | None, target: str, *, every: bool = False
) -> str:
    """Grade the exercise, and tell the next hint on a target, or all; else on the first to mend."""
    from grader.grading.public import public_key
    from grader.report.student import render_told
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
    told = take_hint(desk.folder, exercise, key, result, named=target, every=every)
    return render_told(
        told,
        exercise.id,
        target,
        handed=_handed(submission),
        notebook=source.notebook,
        kept=desk.folder.shipped,
        width=screen_width(),
    )


def _handed(submission: Path | None) -> str:
    """The option that names the same work once more."""
    if submission is None:
        return ""
    return f"--submission {shlex.quote(click.format_filename(submission))}"


def _unread(exercise: Exercise, source: Source) -> str:
    """Why a file cannot be graded, and what to do."""
    lines = wrapped(ended(f"{exercise.id}: {source.problem}"), screen_width(), hang=2)
    if source.next_step:
        lines += wrapped(ended(source.next_step), screen_width(), first="  next  ", hang=8)
    return "\n".join(lines)


def run_explain(typed: str, course: Path | None, submission: Path | None, target: str) -> str:
    """Record the run of one target, the one to mend first where none is named."""
    from grader.report.explained import render_run
    from grader.student.beside import beside_run, borrowed
    from grader.student.hints import target_to_explain, words_given

    with open_desk([typed], course, submission) as desk:
        (exercise,) = desk.exercises
        source = desk.submission.source(exercise)
        if source.problem:
            return _unread(exercise, source)
        (found,) = desk.findings.of(desk.exercises, desk.submission)
        chosen = target_to_explain(exercise, found.result, target)
        trace = found.traces[chosen]  # a run of its own where nothing was kept
    given = words_given(exercise.id, target, _handed(submission))
    beside = beside_run(given, found.result, chosen, ran=trace is not None)
    if submission is None and (said := borrowed(desk.folder, exercise, desk.submission)):
        beside += (said,)
    return render_run(trace, exercise.id, chosen, beside, width=screen_width())


def run_compare(typed: str, course: Path | None, submission: Path | None) -> str:
    """Lay the student's own code beside the solution; raises UsageError where it is not there."""
    from grader.report.student import render_comparison
    from grader.student.compare import compare, needed_solution

    with open_desk([typed], course, submission) as desk:
        (exercise,) = desk.exercises
        solution = needed_solution(desk.folder, exercise)
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
        touched = bool(present) and path.read_bytes() != stub
        kept = _keep_copy(path, folder.root / "backups") if touched else None
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(stub)
    forget_exercise(folder, exercise.id)
    where = f"; what you had is in {kept.relative_to(folder.root)}" if kept else ""
    said = f"{path.relative_to(folder.root)} is as it was at the start{where}."
    return "\n".join(wrapped(said, screen_width(), hang=2))


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
    from grader.report.runs import render_receipt
    from grader.student.pack import pack_work
    from grader.student.progress import remember_result

    with open_desk([], course, submission, part) as desk:
        packed = pack_work(desk.findings, desk.place, desk.exercises)
        for result, source in packed.graded if submission is None else ():
            remember_result(desk.folder, result, source)
    path = into or Path(f"{'-'.join(filter(None, [_slug(desk), part]))}.zip")
    with writing(path):
        path.write_bytes(packed.data)
    shown, place = click.format_filename(path), click.format_filename(path.resolve().parent)
    return render_receipt(packed.receipt, shown, place=place, width=screen_width())


def _slug(desk: Desk) -> str:
    title = "".join(c if c.isalnum() else "-" for c in desk.folder.course.title.lower())
    return "-".join(part for part in title.split("-") if part)


# ---- watching ------------------------------------------------------------------------------------


def run_watch(typed: Sequence[str], course: Path | None, submission: Path | None) -> int:
    """Watch until all exercises are complete or the student stops; returns the exit status."""
    from grader.student.progress import load_progress
    from grader.student.watch import FileEvents, Watch

    one_file = submission is not None and submission.is_file()
    with open_desk(typed if one_file else [], course, submission) as desk:
        folder, place = desk.folder, desk.place
        named = chosen_exercises(folder, typed)
        if one_file:
            named = [exercise_of(place, named)]
        order = named if len(typed) > 1 or one_file else folder.course.exercises
        progress = load_progress(folder)
        remember = partial(_remember, folder) if submission is None else _forget
        scores = {i: e.score for i, e in progress.exercises.items()}
        events = FileEvents(place, order)
        findings = replace(desk.findings, fresh=True)
        watch = Watch(findings, order, place, events, _show_turn, remember, scores)
        unfinished = [e for e in order if not progress.of(e.id).passed]
        first = named[0] if typed or one_file else next(iter(unfinished), order[0])
        try:
            done = watch.run(first)
        except KeyboardInterrupt:
            click.echo("\nUntil next time; grade list shows how far you are.")
            return 0
    return 0 if done else 1


def _remember(folder: CourseFolder, result: "ExerciseResult", source: Source) -> str:
    """Keep what a run came to, and return what the student is reminded of."""
    from grader.student.progress import remember_result
    from grader.student.tries import reminder

    remember_result(folder, result, source)
    return reminder(folder, folder.course.exercise(result.exercise), result)


def _forget(_: "ExerciseResult", __: Source) -> str:
    """A file elsewhere is not the student's progress."""
    return ""


def _show_turn(turn: "Turn") -> None:
    from grader.report.runs import render_turn

    click.clear()
    click.echo(render_turn(turn, width=screen_width()), nl=False)


_IN_NOTEBOOK = (
    "open {}. Its last cell checks your work, and `%read {}` in a cell opens the lesson as a page. "
    "Once the file is saved, this checks it, too:"
)


def run_start(into: Path, bundle: Path | None, *, notebooks: bool, renew: bool) -> str:
    """Make or renew a course folder, and return what to say of it."""
    from grader.student.start import start_course

    with ProgressBar() as progress:
        folder = start_course(
            into, bundle=bundle, notebooks=notebooks, renew=renew, on_built=progress.key_step
        )
    course = folder.course
    first = course.exercises[0]
    if renew:
        what = folder.root.resolve().name
        said = f"The course files of {what} are repaired; your work in exercises/ was not changed."
        return "\n".join(wrapped(said, screen_width()))
    points = sum(exercise.points for exercise in course.exercises)
    file = f"exercises/{first.stem}.{'ipynb' if notebooks else 'py'}"
    if notebooks:
        do = _IN_NOTEBOOK.format(file, first.id)
    else:
        do = f"read the lesson, write {file}, and check your work as you go:"
    first_step = "\n".join(wrapped(f"Next, {do}", 80))
    there = into.resolve() == Path.cwd()
    change = "" if there else f"  cd {shlex.quote(click.format_filename(into))}\n"
    read = "" if notebooks else f"  grade read {first.id}\n"
    where = into.resolve().name if there else into
    return (
        f"{course.title}: {len(course.exercises)} exercises, {points:g} points, in {where}\n\n"
        f"{first_step}\n\n{change}"
        f"{read}  grade check {first.id}{'' if notebooks else ' --watch'}"
    )
