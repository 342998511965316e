"""The commands that make course folders: release and start."""

import shlex
from pathlib import Path

import click

from grader.cli.progress import ProgressBar
from grader.course.load import find_course, load_course


def run_release(into: Path, course: Path | None, part: str, *, solutions: bool) -> str:
    """Write the student bundle, and return what to say of it."""
    from grader.bundle.release import make_bundle, write_bundle

    folder = load_course(find_course(course))
    progress = ProgressBar()
    try:
        files = make_bundle(folder, part=part, solutions=solutions, on_built=progress.key_step)
    finally:
        progress.finish()
    write_bundle(files, into)
    size = sum(map(len, files.values())) / 2**20
    told = f"{into}: {len(files)} files, {size:.1f} MiB, with"
    if solutions:
        return (
            f"{told} the solutions in them: for after the deadline.\n"
            f"Students take it with: grade start . --renew --bundle {into}"
        )
    return (
        f"{told} no line of a solution in them.\n"
        f"Students unpack it, or: grade start my-folder --bundle {into}"
    )


def run_start(into: Path, bundle: Path | None, *, notebooks: bool, renew: bool) -> str:
    """Make or renew a course folder, and return what to say of it."""
    from grader.student.start import start_course

    progress = ProgressBar()
    try:
        folder = start_course(
            into, bundle=bundle, notebooks=notebooks, renew=renew, on_built=progress.key_step
        )
    finally:
        progress.finish()
    course = folder.course
    first = course.exercises[0]
    if renew:
        what = folder.root.resolve().name
        return f"The course files of {what} are repaired; your work in exercises/ was not changed."
    points = sum(exercise.points for exercise in course.exercises)
    file = f"exercises/{first.stem}.{'ipynb' if notebooks else 'py'}"
    if notebooks:
        do = f"open {file}: its last cell checks your work. Once it is saved, this does too:"
    else:
        do = f"read {file}, and check your work as you go:"
    there = into.resolve() == Path.cwd()
    change = "" if there else f"  cd {shlex.quote(click.format_filename(into))}\n"
    where = into.resolve().name if there else into
    return (
        f"{course.title}: {len(course.exercises)} exercises, {points:g} points, in {where}\n\n"
        f"Next, {do}\n\n{change}"
        f"  grade check {first.id}{'' if notebooks else ' --watch'}"
    )
