"""Grades the exercises that a request names, and gathers the document."""

import secrets
import sys
from functools import partial
from pathlib import Path

import click
import platformdirs

from grader import __version__
from grader.cli.check import Progress, Request, resolve_exercises
from grader.course.load import CourseFolder, find_course, load_course
from grader.course.models import Exercise
from grader.errors import InternalError
from grader.execute.launch import WarmProcess
from grader.grading import Standins, grade_exercise
from grader.key.cache import Keys, load_keys
from grader.plan.records import HIDDEN, PUBLIC
from grader.records import Document
from grader.submission import read_submission


def grade_many(request: Request, warm: WarmProcess, progress: Progress) -> Document:
    """Grade every exercise of the request; raises GraderError."""
    folder = load_course(find_course(request.course))
    exercises = chosen_exercises(folder, request)
    limit = folder.course.limits.source_kib * 1024
    submission = read_submission(
        request.submission or folder.exercises, folder.course, exercises, limit
    )
    progress.expect(len(exercises))
    keys = _keys(folder, exercises, progress, hidden=request.hidden)
    for note in keys.notes:
        click.echo(f"grade: {note}", err=True)
    standins = Standins.of(folder)
    results = []
    for exercise in exercises:
        key, pairs = keys.keys[exercise.id], partial(keys.pairs, exercise.id)
        results.append(grade_exercise(folder, exercise, key, standins, submission, warm, pairs))
        progress.advance(exercise.id)
    progress.finish()
    return Document(folder.course.title, f"grader {__version__}", keys.digest, tuple(results))


def chosen_exercises(folder: CourseFolder, request: Request) -> list[Exercise]:
    """Return the exercises that were named, all where none was; raises UsageError."""
    known: dict[str, tuple[str, ...]] = {
        e.id: (e.id, e.id.lstrip("abcdefghijklmnopqrstuvwxyz"), e.name, e.stem)
        for e in folder.course.exercises
    }
    ids = resolve_exercises(request.exercises, known) if request.exercises else list(known)
    return [folder.course.exercise(i) for i in ids]


def _keys(
    folder: CourseFolder, exercises: list[Exercise], progress: Progress, *, hidden: bool
) -> Keys:
    ids = [e.id for e in exercises]

    def built(exercise: str) -> None:
        progress.expect(1)
        progress.advance(f"answer key of {exercise}")

    if not hidden:
        return load_keys(folder, ids, PUBLIC, on_built=built)
    return load_keys(folder, ids, HIDDEN, secret=hidden_secret(folder), on_built=built)


def hidden_secret(folder: CourseFolder) -> bytes:
    """Return the instructor's secret for a course, made on first use and kept out of the course."""
    name = "".join(c if c.isalnum() else "-" for c in folder.course.title.lower())
    path = platformdirs.user_data_path("grade") / "secrets" / f"{name}.secret"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return _new_secret(path)
    except OSError as error:
        raise InternalError(f"the secret of the hidden cases, {path}: {error.strerror}") from None


def _new_secret(path: Path) -> bytes:
    secret = secrets.token_bytes(32)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_bytes(secret)
    except OSError as error:
        raise InternalError(
            f"no secret for hidden cases can be kept in {path}: {error.strerror}"
        ) from None
    sys.stderr.write(f"grade: a new secret for the hidden cases is kept in {path}\n")
    return secret
