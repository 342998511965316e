"""Which pairs of a class's submissions are alike, and how much.

A pattern that half of the class uses tells nothing, one that two files share tells most, and one
that the course itself gives out counts for nothing. The likeness in an exercise is the weight of
the shared patterns over the weight of the shorter file's, so that code put around a copy hides
nothing.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from grader.batch.database import reading
from grader.batch.entries import Entry, find_entries, read_entry
from grader.classes.people import Place, labels_by_submission, read_members, read_places
from grader.course.derive import derive_stub, read_solution
from grader.course.load import CourseFolder
from grader.errors import UsageError
from grader.handin.read import Source
from grader.likeness.patterns import MOST, Pattern, Script, patterns_of, read_script

_CHANCE = 5.0  # patterns that two short files may share by chance
_CLASS = 30  # files: of fewer, what most have in common may be copied as well
_SEVERAL = 6  # one exercise that is alike says more than many that are so by half
_AT_A_TIME = 2048  # patterns
_LEAST = 0.5  # below it, independent right solutions are found in numbers

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Work:
    """One submission's patterns."""

    name: str  # no other's
    people: frozenset[Hashable]  # whose it is
    patterns: Mapping[str, Set[Pattern]]  # by exercise


@dataclass(frozen=True)
class Pair:
    """Two submissions that are alike."""

    one: str
    other: str
    likeness: float  # of 1, all exercises together
    exercises: Mapping[str, float]  # the likeness in each that is alike, the most alike first


def weight(files: int, using: int) -> float:
    """Return what a pattern tells that `using` of a class's files use: from 1 for two down to 0."""
    files = max(files, _CLASS) + 1
    return float(min(1.0, (math.log(files / using) / math.log(files / 2)) ** 2))


def find_pairs(works: Sequence[Work], exercises: Sequence[str], most: int) -> list[Pair]:
    """Return the most alike pairs of different people, the most alike first."""
    works = sorted(works, key=lambda work: work.name)
    by_exercise = {e: _likeness([work.patterns.get(e, set()) for work in works]) for e in exercises}
    unlike = np.ones((len(works), len(works)))
    for found in by_exercise.values():
        unlike *= 1 - found**_SEVERAL
    together = np.round((1 - unlike) ** (1 / _SEVERAL), 6)
    rows, columns = np.nonzero(np.triu(together >= _LEAST, k=1))
    pairs = []
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        one, other = works[row], works[column]
        if one.people.isdisjoint(other.people):
            alike = {e: round(float(found[row, column]), 4) for e, found in by_exercise.items()}
            pairs.append(Pair(one.name, other.name, float(together[row, column]), _first(alike)))
    return sorted(pairs, key=lambda pair: (-pair.likeness, pair.one, pair.other))[:most]


def _first(alike: Mapping[str, float]) -> dict[str, float]:
    """Return the exercises that are alike, at least one, the most alike first."""
    least = min(_LEAST, max(alike.values()))
    ranked = sorted((-share, exercise) for exercise, share in alike.items() if share >= least)
    return {exercise: -share for share, exercise in ranked}


def weights(files: Sequence[Set[Pattern]]) -> dict[Pattern, float]:
    """Return what each pattern of some files tells."""
    using = Counter(pattern for file in files for pattern in file)
    handed_in = sum(map(bool, files))
    return {pattern: weight(handed_in, number) for pattern, number in using.items()}


def _likeness(files: Sequence[Set[Pattern]]) -> Matrix:
    """Return how alike any two files are, from 0 to 1."""
    told = weights(files)
    whole = np.array([math.fsum(told[pattern] for pattern in file) for file in files])
    shared = _shared(files, told)
    least = np.minimum(whole[:, None], whole[None, :])
    found: Matrix = shared / (least + _CHANCE)
    return found


def _shared(files: Sequence[Set[Pattern]], told: Mapping[Pattern, float]) -> Matrix:
    """Return the weight of what any two files share."""
    users: dict[Pattern, list[int]] = {}
    for number, file in enumerate(files):
        for pattern in file:
            users.setdefault(pattern, []).append(number)
    common = sorted((told[pattern], who) for pattern, who in users.items() if len(who) > 1)
    shared = np.zeros((len(files), len(files)))
    for begin in range(0, len(common), _AT_A_TIME):
        part = common[begin : begin + _AT_A_TIME]
        used = np.zeros((len(files), len(part)))
        for column, (_, who) in enumerate(part):
            used[who, column] = 1
        shared += used * np.array([told for told, _ in part]) @ used.T
    return shared


# ---- a class, read again from where it was graded ------------------------------------------------


@dataclass(frozen=True)
class Request:
    """What is to be compared."""

    folder: CourseFolder
    results: Path
    most: int = 20  # pairs


@dataclass(frozen=True)
class AlikeClass:
    """The pairs of a class that are alike, and what is needed to show them."""

    course: str
    compared: int  # submissions
    unread: tuple[str, ...]  # which files have no code that can be compared, or too much of it
    pairs: tuple[Pair, ...]
    labels: Mapping[str, str]  # whose a submission is, by what the results call it
    scripts: Mapping[str, Mapping[str, Script]]  # by submission and exercise, of the pairs
    known: Mapping[str, Set[Pattern]]  # by exercise: what the course gives out
    weights: Mapping[str, Mapping[Pattern, float]]  # by exercise: what each pattern tells


_Handed = Sequence[tuple[Place, Entry]]  # one submission, in each folder that it is in


def _work(
    request: Request, handed: _Handed, known: Mapping[str, Set[Pattern]], unread: list[str]
) -> Work:
    """What a submission has beyond what is given out; `unread` gets what has no code."""
    scripts = _scripts(request, handed, unread)
    patterns = {e: _patterns(script) - known[e] for e, script in scripts.items()}
    place = handed[0][0]
    return Work(place.student, place.people, patterns)


def compare_class(
    request: Request,
    *,
    expect: Callable[[int], None] = lambda _: None,
    advance: Callable[[str], None] = lambda _: None,
) -> AlikeClass:
    """Read a class again and compare every two submissions; raises GraderError.

    `expect` hears how many are to be read, `advance` hears of each.
    """
    course = request.folder.course
    with reading(request.results) as database:
        places = read_places(database)
        labels = labels_by_submission(read_members(database))
    handed: defaultdict[str, list[tuple[Place, Entry]]] = defaultdict(list)
    for place, entry in _entries(request, places):
        handed[place.student].append((place, entry))
    known = {e.id: _known(request.folder, e.file) for e in course.exercises}
    unread: list[str] = []
    works = []
    expect(len(handed))
    for student in sorted(handed):
        works.append(_work(request, handed[student], known, unread))
        advance(student)
    pairs = find_pairs(works, list(known), request.most)
    shown = dict.fromkeys(name for pair in pairs for name in (pair.one, pair.other))
    return AlikeClass(
        course.title,
        len(works),
        tuple(unread),
        tuple(pairs),
        {work.name: labels.get(work.name, work.name) for work in works},
        {name: _scripts(request, handed[name], []) for name in shown},
        known,
        {e: weights([work.patterns.get(e, set()) for work in works]) for e in known},
    )


def _entries(request: Request, places: Sequence[Place]) -> Iterator[tuple[Place, Entry]]:
    """Yield the submissions that still are where they were; raises UsageError where none are."""
    folders = sorted({place.folder for place in places})
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(
                f"{folder}, which {request.results} is of, is no longer there: put the submissions "
                "back, or grade them from where they are now"
            )
        own = {place.student: place for place in places if place.folder == folder}
        for entry in find_entries(folder, request.folder.course):
            if entry.student in own:
                yield own[entry.student], entry
    if not folders:
        raise UsageError(f"{request.results} does not say where its submissions are: grade again")


def _sources(request: Request, handed: _Handed) -> Iterator[tuple[str, Source]]:
    """Yield a submission's files by exercise, each from where it was handed in."""
    for place, entry in handed:
        sources = read_entry(entry, request.folder.course, place.names).submission.sources
        yield from ((e, s) for e, s in sources.items() if e not in place.elsewhere)


def _scripts(request: Request, handed: _Handed, unread: list[str]) -> dict[str, Script]:
    """Return a submission's files by exercise; adds to `unread` what has no code to compare."""
    found = {}
    for exercise, source in _sources(request, handed):
        script = read_script([text for _, text in source.units])
        if script.pieces:
            found[exercise] = script
        refused = bool(source.problem) and not source.absent
        if refused or not script.whole or sum(map(len, script.pieces)) > MOST:
            unread.append(f"{handed[0][0].student} ({exercise})")
    return found


def _patterns(script: Script) -> set[Pattern]:
    return {found.pattern for found in patterns_of(script)}


def _known(folder: CourseFolder, file: str) -> set[Pattern]:
    """Return the patterns of an exercise's reference and stub; raises CourseError."""
    solution = read_solution(folder.solutions / file)
    return _patterns(read_script([solution])) | _patterns(read_script([derive_stub(solution)]))
