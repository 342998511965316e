"""A class's submissions, read again from where they were graded, and what is alike in them."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from grader.batch.database import reading
from grader.batch.entries import Entry, find_entries, read_entry
from grader.classes.people import Place, labels_by_submission, read_members, read_places
from grader.course.derive import derive_stub, read_solution
from grader.course.load import CourseFolder
from grader.errors import UsageError
from grader.handin.read import Source
from grader.likeness.pairs import Pair, Work, find_pairs, weights
from grader.likeness.patterns import MOST, Pattern, patterns_of
from grader.likeness.tokens import Script, read_script


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
    request: Request,
    handed: _Handed,
    known: Mapping[str, Set[Pattern]],
    unread: list[str],
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
