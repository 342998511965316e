"""The members of a class: one for each person, whoever handed in with whom, or not at all."""

import itertools
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.batch.database import noted
from grader.batch.register import read_names, read_origins
from grader.records.people import Identity, Person, Platform, folded, name_keys

WITHDRAWN = "withdrawn"
NOT_LISTED = "not on the roster"
NOTHING = "handed in nothing"
UNGRADED = "not graded yet"


@dataclass(frozen=True)
class KeptSubmission:
    """A submission among a class's results."""

    student: str  # what the results call it
    identity: Identity
    here: bool = True  # whether it was in the folder that was graded last
    score: float | None = 0.0  # None where there is no result
    before: str = ""  # what it was called before


@dataclass(frozen=True)
class Member:
    """One person of a class: a line of its table, and of every export."""

    person: Person
    label: str  # no other member's
    submission: str = ""  # what the results call it; "" where nothing was handed in
    identity: Identity | None = None  # of the submission
    marks: tuple[str, ...] = ()  # what is unusual: withdrawn, not on the roster, renamed
    told: Person = Person()  # as the platform tells, without what the roster adds

    def number_on(self, platform: Platform) -> str:
        """Return a platform's own number of this person, "" where it is not known."""
        own = self.identity is not None and self.identity.platform is platform
        return self.told.id if own else ""


@dataclass(frozen=True)
class _Claim:
    """A submission, and somebody who is said to have handed it in."""

    handed: KeptSubmission
    told: Person  # as the submission tells
    row: int | None = None  # of the roster
    weak: bool = False  # by a number alone, which may be counted in another way


class Roster:
    """People by what is known of them."""

    def __init__(self, people: Sequence[Person]) -> None:
        self.people = people
        self._rows: defaultdict[Hashable, list[int]] = defaultdict(list)
        for row, person in enumerate(people):
            for key in _keys(person):
                self._rows[key].append(row)

    def claims(self, handed: KeptSubmission) -> Iterator[_Claim]:
        """Yield whom a submission is of."""
        for told in handed.identity.people:
            group = self._any("group", name_keys(told.name or told.login))
            row, weak = self._row_of(told, handed.identity.platform)
            if group and (row is None or weak):
                yield from (_Claim(handed, Person(), number) for number in sorted(group))
            else:
                yield _Claim(handed, told, row, weak)

    def find(self, person: Person) -> int | None:
        """Return the line that is surely somebody's."""
        row, weak = self._row_of(person, Platform.FILES)
        return None if weak else row

    def _row_of(self, told: Person, platform: Platform) -> tuple[int | None, bool]:
        """Return the line of somebody, and whether only a number says so."""
        numbered = self._any("id", {told.id})
        called = self._any("name", name_keys(told.name))
        word = {folded(told.login or told.name)}  # of a file or a clone: it may be anything
        free = platform in (Platform.FILES, Platform.GITHUB)
        ways = (
            numbered if not told.name else numbered & called,
            self._any("email", {folded(told.email)}),
            self._any("login", {folded(told.login)}),
            called,
            {row for row in self._any("word", word) if free and self._may_be(row, told)},
        )
        sure = next((min(rows) for rows in ways if len(rows) == 1), None)
        return (sure, False) if sure is not None else (min(numbered, default=None), True)

    def _may_be(self, row: int, told: Person) -> bool:
        """Whether a login, which everybody chooses, is not another one than the line's own."""
        return not (told.login and self.people[row].login)

    def _any(self, field: str, texts: Iterable[str]) -> set[int]:
        return {row for text in texts if text for row in self._rows.get((field, text), ())}


def _keys(person: Person) -> Iterator[tuple[str, str]]:
    yield "id", person.id
    yield "email", folded(person.email)
    yield "login", folded(person.login)
    yield from (("name", key) for key in name_keys(person.name))
    yield from (("group", key) for key in name_keys(person.group))
    yield from (("word", word) for word in _words(person))


def _words(person: Person) -> set[str]:
    told = (person.id, person.login, person.email, person.email.partition("@")[0])
    return {folded(text) for text in told}


def members_of(handed: Iterable[KeptSubmission], people: Sequence[Person]) -> tuple[Member, ...]:
    """Return who is in a class: those of a roster, in its order, and who else handed in."""
    listed: list[list[_Claim]] = [[] for _ in people]
    others: defaultdict[Hashable, list[_Claim]] = defaultdict(list)
    for claim in _claims(handed, people):
        own = others[_own_key(claim)] if claim.row is None else listed[claim.row]
        own.append(claim)
    found = [
        _member(own, people) if own else Member(person, "", marks=(NOTHING,))
        for person, own in zip(people, listed, strict=True)
    ]
    return _labelled([*found, *(_member(own, people) for own in others.values())])


def owners_of(
    handed: Iterable[KeptSubmission], people: Sequence[Person]
) -> Mapping[str, frozenset[Hashable]]:
    """Return whose each submission is, also one that does not count: the same key, one person."""
    found: defaultdict[str, set[Hashable]] = defaultdict(set)
    for claim in _claims(handed, people):
        owner = _own_key(claim) if claim.row is None else claim.row
        found[claim.handed.student].add(owner)
    return {student: frozenset(owners) for student, owners in found.items()}


def _claims(handed: Iterable[KeptSubmission], people: Sequence[Person]) -> list[_Claim]:
    """Return who handed in what; what a number alone says counts where nothing else does."""
    roster = Roster(people)
    claims = [claim for one in handed for claim in roster.claims(one)]
    sure = {claim.row for claim in claims if not claim.weak}
    return [replace(c, row=None) if c.weak and c.row in sure else c for c in claims]


def _own_key(claim: _Claim) -> Hashable:
    """Return what is the same for all submissions of somebody who is on no roster."""
    told, platform = claim.told, claim.handed.identity.platform
    name = folded(told.name) if platform is Platform.FILES else ""
    known = told.id or folded(told.email) or folded(told.login) or name
    return (platform, known or claim.handed.student)


def _member(claims: Sequence[_Claim], people: Sequence[Person]) -> Member:
    """Return a person with the submission that counts: one that is there, with the most points."""
    ranked = sorted(
        claims, key=lambda c: (not c.handed.here, -(c.handed.score or 0), c.handed.student)
    )
    first, *others = ranked
    told, handed = first.told, first.handed
    person = told if first.row is None else _completed(people[first.row], told)
    marks = []
    if not handed.here:
        marks.append(WITHDRAWN)
    if handed.score is None:
        marks.append(UNGRADED)
    if first.row is None and people:
        marks.append(NOT_LISTED)
    if handed.before or not _same_name(person, told):
        marks.append(f"renamed: {handed.before or told.name}")
    names = [claim.handed.student for claim in others if claim.handed.here]
    if names:
        marks.append(f"{handed.student} counts, and not {', '.join(names)}")
    return Member(person, "", handed.student, handed.identity, tuple(marks), told)


def _completed(listed: Person, told: Person) -> Person:
    """Return a person of the roster with what only the platform knows."""
    return Person(
        listed.name or told.name,
        listed.id or told.id,
        listed.email or told.email,
        listed.login or told.login,
        listed.group or told.group,
    )


def _same_name(listed: Person, told: Person) -> bool:
    """Whether two names are one, or what was told is no name."""
    if not told.name or folded(told.name) in _words(listed):
        return True
    return bool(name_keys(listed.name) & name_keys(told.name))


def _labelled(members: Sequence[Member]) -> tuple[Member, ...]:
    """Name each member as no other is: by the name, else with what tells two of it apart."""
    shown = [member.person.shown or member.submission for member in members]
    taken = Counter(map(folded, shown))
    used: set[str] = set()
    found = []
    for label, member in zip(shown, members, strict=True):
        person = member.person
        if taken[folded(label)] > 1:
            label += f" ({person.id or person.login or person.email or member.submission})"
        own = next(one for one in _numbered(label) if folded(one) not in used)
        used.add(folded(own))
        found.append(replace(member, label=own))
    return tuple(found)


def _numbered(label: str) -> Iterator[str]:
    yield label
    yield from (f"{label} ({number})" for number in itertools.count(2))


def labels_by_submission(members: Iterable[Member]) -> Mapping[str, str]:
    """Return what to call each submission: its people."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for member in members:
        found[member.submission].append(member.label)
    return {submission: " and ".join(labels) for submission, labels in found.items()}


# ---- read from a results folder ------------------------------------------------------------------


_HERE = "SELECT student, source FROM handed WHERE here ORDER BY student"


@dataclass(frozen=True)
class Place:
    """Where a submission was handed in."""

    student: str
    folder: Path  # of the class's submissions
    people: frozenset[Hashable]  # whose it is: the same key, one person
    elsewhere: frozenset[str]  # exercises that were handed in to another folder
    names: Mapping[str, str]  # other names of files, by exercise


def read_members(database: sqlite3.Connection) -> tuple[Member, ...]:
    """Return the people of a class, those of its roster first."""
    return members_of(_kept_submissions(database), _listed_people(database))


def read_places(database: sqlite3.Connection) -> list[Place]:
    """Return where each submission is, and whose; one of several folders has a place in each."""
    owners = owners_of(_kept_submissions(database), _listed_people(database))
    names = read_names(database)
    origins: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for one in read_origins(database):
        origins[one.student][one.exercise] = one.source
    found = []
    for student, last in database.execute(_HERE):
        own = origins[student]
        for source in sorted({last, *own.values()}):
            others = frozenset(exercise for exercise, where in own.items() if where != source)
            known = names.get(source, {})
            found.append(Place(student, Path(source), owners[student], others, known))
    return found


def _listed_people(database: sqlite3.Connection) -> list[Person]:
    return [Person(**person) for person in noted(database, "roster") or ()]


def _kept_submissions(database: sqlite3.Connection) -> list[KeptSubmission]:
    rows = database.execute(
        "SELECT s.student, h.identity, COALESCE(h.here, 1), COALESCE(h.before, ''), "
        "(SELECT SUM(score) FROM results r WHERE r.student = s.student) "
        "FROM (SELECT student FROM students UNION SELECT student FROM handed WHERE here) s "
        "LEFT JOIN handed h ON h.student = s.student ORDER BY s.student"
    )
    return [
        KeptSubmission(
            student,
            Identity.parse(text) if text else Identity((Person(student),)),
            bool(here),
            score,
            before,
        )
        for student, text, here, before, score in rows
    ]
