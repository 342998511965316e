"""Whose the things in a class's folder are, by the names that learning platforms give them.

| platform | what its download holds |
| --- | --- |
| plain | one folder, zip, .py file or notebook a student, called by the student's name |
| Moodle | Ada Lovelace_1234_assignsubmission_file/, older with _ behind it, or ..._file_work.py; |
| | Participant_1234_... where names are hidden; a group's has the group's number or none |
| Canvas | lovelaceada_LATE_123_4567_exercise1-2.py: name, person, file's number, file, attempt; |
| | anon_x1Yz9_4567_exercise1.py where names are hidden |
| Gradescope | submission_98765/ beside submission_metadata.yml, which names the students |
| GitHub | transformers-submissions/transformers-ada/: clones, called by assignment and login |
"""

import itertools
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path

import yaml

from grader.course.models import Course
from grader.errors import UsageError
from grader.handin.archive import ARCHIVES
from grader.handin.files import is_hidden
from grader.handin.gather import Part
from grader.handin.pick import SUFFIXES, proper_name
from grader.records.people import Identity, Person, Platform
from grader.records.text import storable

METADATA = "submission_metadata.yml"  # Gradescope's
_METADATA_BYTES = 32 << 20
_MOODLE = re.compile(
    r"(?P<name>.+?)(?:_(?P<id>\d+))?_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)", re.S
)
_MOODLE_HIDDEN = "Participant"
_CANVAS = re.compile(r"(?P<name>.+?)(?P<late>_LATE)?_(?P<id>\d+)_\d+_(?P<file>.+)", re.S)
_CANVAS_HIDDEN = re.compile(r"(?P<late>LATE_)?anon_(?P<id>[A-Za-z0-9]+)_\d+_(?P<file>.+)", re.S)
_GRADESCOPE = re.compile(r"submission_\d+")
_NAME = 60  # characters of a person's that go into the name of a file
_CLONES = "-submissions"  # ends the name of the folder that gh classroom clones into


@dataclass(frozen=True)
class Owned:
    """A thing in a class's folder, and whose it is, as its name tells."""

    student: str  # the same for all that is of one submission
    part: Part
    identity: Identity
    several: bool = False  # whether a student of this platform has one path for each file


@dataclass(frozen=True)
class Layout:
    """What is to be known of a class's folder before its names can be read."""

    course: Course
    submitted: Mapping[str, Identity] = field(default_factory=dict)  # by folder, from Gradescope
    clones: Mapping[str, str] = field(default_factory=dict)  # logins by the names of folders

    def owner(self, path: Path) -> Owned | None:
        """Return whose a path is; None where it is none of a submission's kinds."""
        if is_hidden(path.name):
            return None
        folder = os.path.isdir(path) and not path.is_symlink()
        known = path.suffix.lower() in (*SUFFIXES, *ARCHIVES)
        if path.is_symlink() and not known:
            return _plain(path.name, Part(path, path.name))  # to be refused with a reason
        if not folder and not known:
            return None
        if path.name in self.submitted:
            identity = self.submitted[path.name]
            return Owned(_joined(identity.people), Part(path, path.name), identity)
        told = [_of_moodle(path), None if folder else _of_canvas(path, self.course)]
        if named := list(filter(None, told)):
            # what a student calls a file stands last, so it may look like another platform's name
            return max(named, key=lambda one: len(one.part.name))
        if path.name in self.clones:
            someone = Identity((Person(login=storable(self.clones[path.name])),), Platform.GITHUB)
            return Owned(path.name, Part(path, path.name), someone)
        if folder:
            return _plain(path.name, Part(path, path.name))
        if path.suffix.lower() in ARCHIVES:
            return _plain(path.stem.removesuffix(".tar"), Part(path, path.name))
        return _named_by_exercise(path, self.course)


def layout_of(folder: Path, paths: Sequence[Path], course: Course) -> Layout:
    """Look at a class's folder; raises OSError, and UsageError for metadata that are none."""
    return Layout(course, _gradescope_people(folder / METADATA), _clones(folder, paths))


def downloaded(names: Iterable[str]) -> frozenset[str]:
    """Return whose files a platform gave some names to, as far as the names tell."""
    patterns = (_MOODLE, _CANVAS_HIDDEN, _CANVAS)
    found = (next(filter(None, (p.fullmatch(name) for p in patterns)), None) for name in names)
    return frozenset(one["id"] or one["name"] for one in found if one)


def is_one_of_a_download(path: Path) -> bool:
    """Whether a folder is one student's in a download of Moodle's or Gradescope's."""
    if _MOODLE.fullmatch(path.name):
        return True
    return bool(_GRADESCOPE.fullmatch(path.name)) and (path.parent / METADATA).is_file()


def feedback_name(identity: Identity, file: str) -> str:
    """Return what a file that goes back is called for its platform to know whose it is.

    "" where its name does not tell: the group of a download of Moodle's without numbers, say.
    Canvas reads a person and the file that was handed in out of a name (its
    `infer_comment_context_from_filename`), Moodle the participant (`assignfeedback_file`'s
    `is_valid_filename_for_import`), out of the folder's name where its download has folders.
    Both count the parts between underscores, so a person's own name has none.
    """
    called = identity.name
    if identity.platform is Platform.CANVAS:
        if hidden := _CANVAS_HIDDEN.fullmatch(called):
            return f"{called[: hidden.start('file')]}{file}"
        found = _CANVAS.fullmatch(called)
        return f"{_tame(called, found)}{file}" if found else ""
    found = _MOODLE.fullmatch(called)
    if identity.platform is not Platform.MOODLE or not found or not found["id"]:
        return ""
    return f"{_tame(called, found)}{'' if found['file'] else '/'}{file}"


def told_moment(text: str, zone: tzinfo | None) -> datetime | None:
    """Return when something was handed in, as a platform tells; None where that is not clear."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return moment.replace(tzinfo=zone) if zone else None  # of two the first
    return moment


def _tame(called: str, found: re.Match[str]) -> str:
    """Return a name of a platform's up to the file's, with nothing in the person's that acts."""
    odd = '_/\\:*?"<>|'
    name = "".join(c if c.isprintable() and c not in odd else "-" for c in found["name"])
    plain = name.lstrip(".~ ")[:_NAME].rstrip(". ") or "student"
    return f"{plain}{called[found.end('name') : found.start('file')]}"


def _plain(student: str, part: Part, *, several: bool = False) -> Owned:
    return Owned(student, part, Identity((Person(storable(student)),)), several)


def _of_moodle(path: Path) -> Owned | None:
    called = storable(path.name)
    found = _MOODLE.fullmatch(called)
    if found is None:
        return None
    number = found["id"] or ""
    name = "" if found["name"] == _MOODLE_HIDDEN and number else found["name"]
    identity = Identity((Person(name, number),), Platform.MOODLE, called)
    student = f"{found['name']}_{number}" if number else found["name"]
    return Owned(student, Part(path, found["file"] or called), identity, several=True)


def _of_canvas(path: Path, course: Course) -> Owned | None:
    called = storable(path.name)
    hidden = _CANVAS_HIDDEN.fullmatch(called)
    found = hidden or _CANVAS.fullmatch(called)
    if found is None:
        return None
    name = "" if hidden else found["name"]
    identity = Identity(
        (Person(name, found["id"]),),
        Platform.CANVAS,
        called,
        attempt=_attempt(found["file"], course),
        late=bool(found["late"]),
    )
    student = f"{name or 'anon'}_{found['id']}"
    return Owned(student, Part(path, found["file"]), identity, several=True)


def _attempt(file: str, course: Course) -> int:
    """Canvas calls a file of the third attempt x-2.py, if it was called x.py each time."""
    named = (proper_name(file, exercise) for exercise in course.exercises)
    return next((again + 1 for _, again in filter(None, named)), 0)


def _named_by_exercise(path: Path, course: Course) -> Owned:
    """ada_exercise3_multi_head.py and ada-exercise3.py are of ada; ada.py may be any exercise."""
    for exercise in course.exercises:
        for stem in (exercise.stem, exercise.id):
            student = path.stem.removesuffix(stem).rstrip("_- .")
            if path.stem.endswith(stem) and student:
                part = Part(path, f"{stem}{path.suffix.lower()}")
                return _plain(student, part, several=True)
    only = course.exercises[0] if len(course.exercises) == 1 else None
    name = f"{only.stem}{path.suffix.lower()}" if only else path.name
    return _plain(path.stem, Part(path, name))


def _joined(people: Sequence[Person]) -> str:
    return " and ".join(person.id or person.email or person.name for person in people)


def _gradescope_people(path: Path) -> dict[str, Identity]:
    """Return who handed in each folder, as Gradescope's export tells."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _METADATA_BYTES:
        return {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = re.sub(r"^(\s*-?\s*):(\w+):", r"\1\2:", path.read_text("utf-8", "replace"), flags=re.M)
    try:
        data = yaml.load(text, loader)  # noqa: S506 - one of the safe loaders
    except (yaml.YAMLError, RecursionError, ValueError):
        raise UsageError(f"{path} cannot be read as YAML: export the submissions again") from None
    if not isinstance(data, dict):
        return {}
    found = {str(name): _submitted(str(name), about) for name, about in data.items()}
    return {
        name: identity
        for name, identity in found.items()
        if _GRADESCOPE.fullmatch(name) and identity.people
    }


def _submitted(name: str, about: object) -> Identity:
    told = about if isinstance(about, dict) else {}
    listed = told.get("submitters")
    people = [p for p in listed if isinstance(p, dict)] if isinstance(listed, list) else []
    known = [Person(*(str(p.get(key) or "") for key in ("name", "sid", "email"))) for p in people]
    before = told.get("history")
    time = told.get("created_at")
    return Identity(
        tuple(person for person in known if person.shown or person.id),
        Platform.GRADESCOPE,
        name,
        attempt=len(before) + 1 if isinstance(before, list) else 0,
        time=time.isoformat() if isinstance(time, datetime) else str(time or ""),
    )


def _clones(folder: Path, paths: Sequence[Path]) -> dict[str, str]:
    """Return the logins by the names of clones: what follows the assignment in them."""
    names = [path.name for path in paths if (path / ".git").exists()]
    own = folder.resolve().name
    begin = f"{own.removesuffix(_CLONES)}-" if own.endswith(_CLONES) else ""
    if not begin and len(names) > 1:
        begin = _common("-", names)
    logins = {name: name.removeprefix(begin) for name in names if begin and name.startswith(begin)}
    return {name: login for name, login in logins.items() if login}


def _common(separator: str, names: Sequence[str]) -> str:
    """Return the whole parts that all names begin with, with the separator behind each."""
    parts = zip(*(name.split(separator)[:-1] for name in names), strict=False)
    same = itertools.takewhile(lambda group: len(set(group)) == 1, parts)
    return "".join(f"{group[0]}{separator}" for group in same)
