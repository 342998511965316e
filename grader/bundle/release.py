"""Makes the bundle that students get: stubs, notebooks, the public course and its answer key.

Needs the solutions, and jupytext for the notebooks (the extra `instructor`).
"""

import json
import re
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from grader.bundle.leaks import Secrets, find_leaks
from grader.course.data import DATA_FOLDER, data_parts
from grader.course.derive import read_solution, read_stub
from grader.course.load import COURSE_FILE, CourseFolder, parse_course
from grader.course.models import Course, Exercise
from grader.course.questions import question_file, question_text, read_questions
from grader.course.shipped import (
    FORMAT_VERSION,
    KEY_FOLDER,
    MANIFEST,
    STANDINS,
    BundleManifest,
    content_sum,
    read_standins,
    seal,
    solution_name,
    stub_name,
)
from grader.course.written import frameworks_of
from grader.errors import CourseError, UsageError, writing
from grader.files import write_files, zipped
from grader.key.cache import Keys, load_keys
from grader.key.store import PAIRS, write_key
from grader.records.calls import HIDDEN, PUBLIC
from grader.records.key import AnswerKey
from grader.version import VERSION

_SHELL = re.compile(r"`grade (read|check|try|hint|explain|compare)\b")  # magics have these names
_COMMANDS = (
    ("grade read {}", "its lesson as a page, with formulas and drawings"),
    ("grade check {} --watch", "checks again on each save, and goes on when all is right"),
    ("grade try {}", "questions: guess what comes out, and run your own code"),
    ("grade hint {}", "hints, from gentle to plain"),
    ("grade explain {}", "the shapes in your own run beside the expected ones"),
    ("grade check {} --html report.html", "the report as a page, with pictures"),
    ("grade compare {}", "the reference beside your code, once it is released"),
    ("grade list", "how far you are"),
    ("grade reset {}", "start an exercise again; your file is kept"),
    ("grade pack", "the zip to hand in"),
)
_README = """\
# {title}

{count} exercises, {points:g} points. Each file in `exercises/` is a lesson with
gaps: read it, replace each `raise NotImplementedError` by your code, and check
your work as often as you like.

{commands}
{alone}
The same exercises as notebooks are made by `grade start my-folder --notebooks`; in
an unpacked zip, move them from `notebooks/` to `exercises/`. Open them in VS Code,
or in JupyterLab: `pip install jupyterlab`, then `jupyter lab`. After the cell with
`%load_ext grader`, these are commands on the cells that you ran, too: `%read`,
`%check`, `%try`, `%hint`, `%explain` and `%compare` with an exercise, as in
`%check {first}`, and `%list`.

After `pip install pytest`, `python -m pytest` runs the same checks as tests, for an
editor's test panel: those of one exercise with `python -m pytest -k {stem}`.
What is not written yet is skipped.
{trained}
The folder `key/` is for the grader: leave it as it is. If a file in it is
missing, `grade start . --renew` in this folder restores it, and does not change
your work.
"""


def make_bundle(
    folder: CourseFolder,
    *,
    part: str = "",
    pairs_of: Collection[str] | None = None,
    secret: bytes | None = None,
    solutions: bool = False,
    on_built: Callable[[str], None] = lambda _: None,
) -> dict[str, bytes]:
    """Return the content of each file of a course's bundle, by its path.

    A part comes with those before it, which its exercises import; without a name all do.
    `pairs_of` limits the exercises whose pairs of bugs are told, which take long to build. With
    `secret`, the key of the hidden cases is in it too, for where work is graded, not for students.
    Raises CourseError where a known bug, or unasked a solution, would be in it.
    """
    exercises = _until(folder.course, part)
    ids = [e.id for e in exercises]
    if not folder.solutions.is_dir():
        raise CourseError(f"{folder.root} has no solutions/: a bundle is made from a whole course")
    keys = load_keys(folder, ids, PUBLIC, on_built=on_built)
    files = {COURSE_FILE: public_course(folder, ids).encode()}
    files |= _handouts(folder, exercises) | {STANDINS: seal(read_standins(folder))}
    files |= _key_files(keys)
    _refuse_leaks(folder, files)  # before pairs, which take minutes
    files |= _pair_files(folder, keys, ids if pairs_of is None else pairs_of, on_built)
    files |= solution_files(folder, exercises if solutions else ())
    files |= _hidden_files(folder, ids, secret, on_built) if secret is not None else {}
    files[MANIFEST] = _manifest(folder.course.title, keys.digest, files)
    return files


def _hidden_files(
    folder: CourseFolder, ids: Sequence[str], secret: bytes, on_built: Callable[[str], None]
) -> dict[str, bytes]:
    hidden = _key_files(load_keys(folder, ids, HIDDEN, secret=secret, on_built=on_built))
    _refuse_leaks(folder, {name.replace(HIDDEN, PUBLIC): hidden[name] for name in hidden})
    return hidden


def _refuse_leaks(folder: CourseFolder, files: Mapping[str, bytes]) -> None:
    if leaks := find_leaks(files, Secrets.of(folder)):
        raise CourseError(f"{leaks[0].file} would give away a solution's line: {leaks[0].line}")


def _manifest(title: str, digest: str, files: Mapping[str, bytes]) -> bytes:
    """The manifest of a key, with the sums of what grading reads."""
    starts = (f"{KEY_FOLDER}/", f"{DATA_FOLDER}/")
    read = [name for name in files if name == COURSE_FILE or name.startswith(starts)]
    manifest = BundleManifest(
        format_version=FORMAT_VERSION,
        course=title,
        grader=VERSION,
        key=digest,
        files={name: content_sum(name, files[name]) for name in sorted(read)},
    )
    return (manifest.model_dump_json(indent=1) + "\n").encode()


def _until(course: Course, part: str) -> list[Exercise]:
    """Return the exercises of a part and of those before it, all where none is named."""
    last = course.part(part).exercises[-1]
    return [*course.earlier(last), last]


def _readme(course: Course, exercises: Sequence[Exercise]) -> str:
    lines = [f"- `{command.format(exercises[0].id)}`: {what}" for command, what in _COMMANDS]
    return _README.format(
        title=course.title,
        first=exercises[0].id,
        stem=Path(exercises[0].file).stem,
        alone=_alone(course, exercises),
        trained=_trained(exercises),
        count=len(exercises),
        points=sum(exercise.points for exercise in exercises),
        commands="\n".join(lines),
    )


def _trained(exercises: Sequence[Exercise]) -> str:
    """Return what to say of checks that take a training, "" where there are none."""
    names = [exercise.id for exercise in exercises if exercise.trains]
    if not names:
        return ""
    return f"`grade train {names[0]}` trains your models, and grades what they have learnt.\n"


def _alone(course: Course, exercises: Sequence[Exercise]) -> str:
    """Return what to set before files are run without grader, "" where that is nothing."""
    frameworks = frameworks_of(course, [exercise.id for exercise in exercises])
    set_up = [f"{k}={v}" for one in frameworks for k, v in one.environment.items()]
    if not set_up:
        return ""
    named = " ".join(set_up)
    return (
        f"\nGrading sets `{named}`. To run your files by themselves, set it too:\n"
        f"`export {named}`, or `set {named}` on Windows.\n"
    )


def _handouts(folder: CourseFolder, exercises: Sequence[Exercise]) -> dict[str, bytes]:
    """Return what a student reads and fills in."""
    files = {"README.md": _readme(folder.course, exercises).encode()}
    for exercise in exercises:
        files |= _stubs(folder, exercise)
    return files | data_parts(folder) | _questions(folder, exercises)


def _questions(folder: CourseFolder, exercises: Sequence[Exercise]) -> dict[str, bytes]:
    """Return the questions of exercises that have some; raises CourseError for a wrong one."""
    asked = [exercise for exercise in exercises if read_questions(folder, exercise)]
    return {f"{KEY_FOLDER}/{question_file(e)}": question_text(folder, e).encode() for e in asked}


def _stubs(folder: CourseFolder, exercise: Exercise) -> dict[str, bytes]:
    stub = read_stub(folder.solutions / exercise.file)
    notebook = stub_notebook(stub, exercise.id).encode()
    return {
        f"exercises/{exercise.file}": stub.encode(),
        stub_name(exercise.stem, notebook=False): stub.encode(),
        f"notebooks/{exercise.stem}.ipynb": notebook,
        stub_name(exercise.stem, notebook=True): notebook,
    }


def stub_notebook(stub: str, exercise: str) -> str:
    """Return a stub as a notebook's text, with a cell that checks it; raises UsageError."""
    try:
        import jupytext
    except ImportError:
        raise UsageError(
            "notebooks are made with jupytext: pip install 'grader[instructor]'"
        ) from None
    read = jupytext.reads(stub, fmt="py:percent").cells
    cells = [(c.cell_type, _SHELL.sub(r"`%\1", c.source)) for c in read]
    lesson, *rest = cells
    check = f'from grader import check\n\ncheck("{exercise}")'
    cells = [lesson, ("code", "%load_ext grader"), *rest, ("code", check)]
    document = {
        "cells": [_cell(number, kind, text) for number, (kind, text) in enumerate(cells, 1)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _cell(number: int, kind: str, text: str) -> dict[str, object]:
    return {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": text.splitlines(keepends=True),
        **({"execution_count": None, "outputs": []} if kind == "code" else {}),
    }


def _key_files(keys: Keys) -> dict[str, bytes]:
    """The files of each exercise's key, as they are read back from a student's folder."""
    with tempfile.TemporaryDirectory(prefix="grade-release-") as scratch:
        for key in keys.keys.values():
            write_key(Path(scratch), _without_words(key))
        return {f"{KEY_FOLDER}/{p.name}": p.read_bytes() for p in sorted(Path(scratch).iterdir())}


def _pair_files(
    folder: CourseFolder, keys: Keys, pairs_of: Collection[str], on_built: Callable[[str], None]
) -> dict[str, bytes]:
    files = {}
    for exercise in pairs_of:
        keys.pairs(exercise)
        on_built(exercise)
        name = f"{exercise}.{PUBLIC}.{PAIRS}"
        try:
            files[f"{KEY_FOLDER}/{name}"] = (keys.place / name).read_bytes()
        except OSError as error:
            raise CourseError(f"the pairs of {exercise} cannot be read: {error.strerror}") from None
    _refuse_leaks(folder, files)
    return files


def _without_words(key: AnswerKey) -> AnswerKey:
    """The key without the texts of the reference's own exceptions, which are its source."""
    answers = {}
    for call_id, answer in key.answers.items():
        error = answer.error and answer.error.model_copy(update={"message": "", "frames": []})
        answers[call_id] = replace(answer, error=error)
    return replace(key, answers=answers)


def write_bundle(files: Mapping[str, bytes], into: Path) -> None:
    """Write a bundle as a zip, or as a folder that is not there yet; raises UsageError."""
    with writing(into):
        if into.suffix == ".zip":
            into.parent.mkdir(parents=True, exist_ok=True)
            into.write_bytes(zipped(files))
            return
        if into.exists() and (not into.is_dir() or any(into.iterdir())):
            raise UsageError(
                f"{into} is there already: name a new folder, or a file ending in .zip"
            )
        write_files(into, files)


# ---- the course.yml of a bundle ------------------------------------------------------------------


_SCHEMA = "# yaml-language-server:"  # names a file that only the grader's own tree has


def public_course(folder: CourseFolder, exercises: Collection[str]) -> str:
    """Return course.yml with some exercises, the first ones, and the parts that have any of them.

    All that stays is the student's to read, comments included; the line for editors goes. Raises
    CourseError.
    """
    text = (folder.root / COURSE_FILE).read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for start, end in _left_out(folder, text, exercises):
        lines[start:end] = [""] * (end - start)
    public = "".join(line for line in lines if not line.startswith(_SCHEMA))
    left = [exercise.id for exercise in parse_course(public, COURSE_FILE).exercises]
    if left != list(exercises):
        raise CourseError(f"{COURSE_FILE}: begin each exercise and part on a line of its own")
    return public


def _left_out(folder: CourseFolder, text: str, exercises: Collection[str]) -> list[tuple[int, int]]:
    """Return the ranges of lines that are of other exercises and parts."""
    course = folder.course
    kept = {
        "exercises": [exercise.id in exercises for exercise in course.exercises],
        "parts": [bool(set(part.exercises).intersection(exercises)) for part in course.parts],
    }
    top = yaml.compose(text)
    found = []
    for key, value in top.value if isinstance(top, yaml.MappingNode) else ():
        keeps = kept.get(key.value, [])
        starts = [one.start_mark.line for one in value.value] if keeps else []
        ends = [*starts[1:], value.end_mark.line]
        found += [
            (start, end) for start, end, keep in zip(starts, ends, keeps, strict=False) if not keep
        ]
    return found


# ---- solutions, for after the deadline -----------------------------------------------------------


def solution_files(folder: CourseFolder, exercises: Sequence[Exercise]) -> dict[str, bytes]:
    """Return the solutions by the path that they have in a bundle; raises CourseError."""
    return {solution_name(e): read_solution(folder.solutions / e.file).encode() for e in exercises}
