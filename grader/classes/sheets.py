"""The tables that Canvas and Moodle let download, filled with scores for them to take back.

Canvas finds a student by its own ID, else by SIS User ID, SIS Login ID or name, and an assignment
by the number in its title. Moodle's grading worksheet has a number for each participant, and is not
taken without the column of the grade's time. Both forms follow the platforms' own code.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.classes.people import Member, Roster
from grader.classes.scores import Scores, StudentScores
from grader.classes.tables import Table, cell, cells, find_column, person_of, places_of, read_table
from grader.errors import UsageError
from grader.records.people import Person, Platform
from grader.records.text import listed

# ---- Moodle's worksheet in any language ----------------------------------------------------------


_PARTICIPANT = re.compile(r"[^\d]*(\d+)")  # "Participant 11", "Teilnehmer/in11"
_POINTS = re.compile(r"\d+[.,]\d+")
_GRADE = re.compile(r"(\d+([.,]\d+)?|-)?")


@dataclass(frozen=True)
class WorksheetForm:
    """Where in a worksheet what stands; -1 where it is not there."""

    identifier: int
    grade: int
    most: int
    time: int = -1
    comment: int = -1
    people: Mapping[str, int] = field(default_factory=dict)  # columns of name and address

    def participant(self, row: Sequence[str]) -> str:
        """Return the number of a line's participant, "" where it has none."""
        found = _PARTICIPANT.fullmatch(row[self.identifier])
        return found[1] if found else ""

    @property
    def last_of_others(self) -> int:
        """The column before which text is others' and is not read back."""
        return self.time if self.time >= 0 else self.grade


def read_by_form(table: Table) -> WorksheetForm | None:
    """Return a worksheet's form, whatever its columns are called; None where it has another."""
    rows = table.rows[1:]
    width = len(table.rows[0])
    if not rows or any(len(row) != width or not _PARTICIPANT.fullmatch(row[0]) for row in rows):
        return None
    found = [n for n in range(2, width) if _is_most(rows, n)]
    if len(found) != 1:
        return None
    addresses = (n for n in range(2, found[0] - 1) if any("@" in row[n] for row in rows))
    people = {"full name": 1}
    if address := next(addresses, 0):
        people["email"] = address
    last = width - 1
    comment = last if last > found[0] + 1 and not any(row[last] for row in rows) else -1
    return WorksheetForm(0, found[0] - 1, found[0], comment=comment, people=people)


def _is_most(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column has the same points in each line, behind one of grades."""
    points = {row[column] for row in rows}
    grades = all(_GRADE.fullmatch(row[column - 1].strip()) for row in rows)
    return grades and len(points) == 1 and bool(_POINTS.fullmatch(points.pop()))


# ---- tables and scores ---------------------------------------------------------------------------


_CANVAS = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
_CANVAS_EXCUSED = "EX"
_MOODLE = ["Identifier", "Full name", "Email address", "Grade", "Maximum Grade"]
_MOODLE_TIME = "Last modified (grade)"
_MOODLE_COMMENT = "Feedback comments"
_OF_CANVAS = re.compile(r"(Current|Final|Override) (Score|Points|Grade|Status)")  # its own columns
_NUMBERED = re.compile(r"(?P<title>.*) \(\d+\)", re.S)  # an assignment that Canvas has
_NOT_A_STUDENT = re.compile(r"\s*(Points Possible|Student, Test)|\s*(Muted|Manual Posting.*)?\s*$")


@dataclass(frozen=True)
class Filled:
    """A table with scores."""

    table: Table
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Sheet:
    """A platform's table, and where in it a score goes."""

    platform: Platform
    table: Table
    grade: int  # the column
    numbers: Mapping[str, int]  # lines by the platform's number of a person
    people: Mapping[int, Person]  # by line; their numbers are not the platform's
    possible: str = ""  # points, as the platform says
    comment: int = -1  # the column, if there is one
    guarded: tuple[int, ...] = field(default=())  # columns whose text is others' and is not read


def fill_sheet(scores: Scores, platform: Platform, template: Path | None) -> Filled:
    """Return a platform's table with scores: a new one, or the one that it let download."""
    sheet_of = {Platform.CANVAS: _canvas, Platform.MOODLE: _moodle}[platform]
    if template is None:
        table = {Platform.CANVAS: _blank_canvas, Platform.MOODLE: _blank_moodle}[platform](scores)
        sheet = sheet_of(table, scores, None)
        begin = len(table.rows) - len(scores.students)
        pairs = dict(enumerate(scores.students, start=begin))
        notes = _unknown(platform, scores)
    else:
        sheet = sheet_of(read_table(template), scores, template)
        pairs, notes = _matched(sheet, scores.students, template)
    for line, student in pairs.items():
        _write(sheet, sheet.table.rows[line], student, scores.possible)
    _guard(sheet)
    excused = [s.member.label for s in pairs.values() if len(s.counted) < len(s.scores)]
    told = _named("excused from something, so the share of what counts is written", excused)
    return Filled(sheet.table, (*_other_points(sheet, scores), *told, *notes))


def _canvas(table: Table, scores: Scores, template: Path | None) -> _Sheet:
    """Read Canvas's gradebook; raises UsageError where it is none."""
    titles = table.rows[0]
    number, section = find_column(titles, "ID"), find_column(titles, "Section")
    if number not in (1, 2) or section < number:
        raise UsageError(f"{template} is no gradebook of Canvas's: export it there, as CSV")
    grade = _column_of(titles, section, scores, template)
    known = places_of(titles)
    sis = find_column(titles, "SIS User ID")
    found = {
        line: person_of(known, row)
        for line, row in enumerate(table.rows)
        if line and row and not _NOT_A_STUDENT.match(row[0]) and len(row) > grade
    }
    possible = next((row for row in table.rows if row and "Points Possible" in row[0]), [])
    return _Sheet(
        Platform.CANVAS,
        table,
        grade,
        {person.id: line for line, person in found.items() if person.id},
        {n: replace(p, id=table.rows[n][sis] if sis > 0 else "") for n, p in found.items()},
        possible[grade] if len(possible) > grade else "",
        guarded=tuple(n for n in range(section + 1) if n not in (number, sis)),
    )


def _column_of(titles: Sequence[str], section: int, scores: Scores, template: Path | None) -> int:
    """Return the column of the assignment; raises UsageError where it is not clear."""
    own = [n for n in range(section + 1, len(titles)) if not _OF_CANVAS.search(titles[n])]
    if template is None:
        return own[0]
    wanted = scores.assignment.casefold()
    found = {n: _NUMBERED.fullmatch(titles[n]) for n in own}
    plain = {n: match["title"] if match else titles[n] for n, match in found.items()}
    called = [n for n in own if wanted in (titles[n].casefold(), plain[n].casefold())]
    numbered = [n for n in own if plain[n] != titles[n]]
    for columns in (called, [] if scores.named else numbered):
        if len(columns) == 1:
            return columns[0]
    shown = ", ".join(repr(titles[n]) for n in numbered or own) or "no assignment"
    raise UsageError(
        f"{template} has {shown}, and no one {scores.assignment!r}: say --assignment NAME"
    )


def _moodle(table: Table, scores: Scores, template: Path | None) -> _Sheet:  # noqa: ARG001 - as _canvas
    """Read Moodle's grading worksheet; raises UsageError where it is none."""
    form = _english(table) or read_by_form(table)
    if form is None:
        raise UsageError(
            f"{template} is no grading worksheet of Moodle's: download it from the assignment"
        )
    titles = table.rows[0]
    known = {**form.people, **places_of(titles)}
    number = find_column(titles, "ID number")
    lines = [n for n, row in enumerate(table.rows) if n and len(row) > form.grade]
    found = {n: person_of(known, table.rows[n]) for n in lines}
    kept = {form.grade, form.time, form.most, form.identifier}
    return _Sheet(
        Platform.MOODLE,
        table,
        form.grade,
        {participant: n for n in lines if (participant := form.participant(table.rows[n]))},
        {n: replace(p, id=table.rows[n][number] if number >= 0 else "") for n, p in found.items()},
        next((table.rows[n][form.most] for n in found if form.most >= 0), ""),
        form.comment,
        guarded=tuple(n for n in range(form.last_of_others) if n not in kept),
    )


def _english(table: Table) -> WorksheetForm | None:
    titles = table.rows[0]
    grade, time = find_column(titles, "Grade"), find_column(titles, _MOODLE_TIME)
    identifier = find_column(titles, "Identifier")
    if min(grade, time, identifier) < 0:
        return None
    most = find_column(titles, "Maximum Grade")
    return WorksheetForm(identifier, grade, most, time, find_column(titles, _MOODLE_COMMENT))


def _blank_canvas(scores: Scores) -> Table:
    possible = ["    Points Possible", "", "", "", "", cell(scores.possible)]
    rows = [[*_CANVAS, cell(scores.assignment)], possible]
    for one in scores.students:
        number, person = one.member.number_on(Platform.CANVAS), one.member.person
        sis = "" if person.id == number else person.id
        name = person.name or one.member.label
        rows.append(cells([name, number, sis, person.login, "", ""]))
    return Table(rows)


def _blank_moodle(scores: Scores) -> Table:
    rows = [[*_MOODLE, _MOODLE_TIME, _MOODLE_COMMENT]]
    for one in scores.students:
        number, person = one.member.number_on(Platform.MOODLE), one.member.person
        called = [f"Participant {number}" if number else "", person.name or one.member.label]
        rows.append(cells([*called, person.email, "", scores.possible, "", ""]))
    return Table(rows)


def _matched(
    sheet: _Sheet, students: Iterable[StudentScores], template: Path
) -> tuple[dict[int, StudentScores], list[str]]:
    """Return whose score goes into which line, and what a person should know."""
    lines = list(sheet.people)
    roster = Roster([sheet.people[line] for line in lines])
    pairs: dict[int, StudentScores] = {}
    missed = []
    for student in students:
        member = student.member
        line = sheet.numbers.get(member.number_on(sheet.platform))
        if line is None and (row := roster.find(member.person)) is not None:
            line = lines[row]
        if line is None or line in pairs:
            missed.append(member)
        else:
            pairs[line] = student
    left = [sheet.people[n].shown or f"line {n + 1}" for n in lines if n not in pairs]
    return pairs, [
        *_named(f"not in {template}, and left out", [member.label for member in missed]),
        *_named(f"no scores for, and left as {template} has them", left),
    ]


def _write(sheet: _Sheet, row: list[str], student: StudentScores, possible: float) -> None:
    """Write a score and what is said of it; who handed in nothing keeps what is there."""
    total = student.total_of(possible)
    if total is not None:
        row[sheet.grade] = cell(total)
    elif student.excused and sheet.platform is Platform.CANVAS:
        row[sheet.grade] = _CANVAS_EXCUSED
    said = [f"{one.exercise}: {one.comment}" for one in student.scores if one.comment]
    if sheet.comment >= 0 and said:
        row.extend([""] * (sheet.comment + 1 - len(row)))
        row[sheet.comment] = html.escape(cell("\n".join(said))).replace("\n", "<br>")


def _guard(sheet: _Sheet) -> None:
    """Let no text of others' be a formula in a spreadsheet; the platform does not read it back."""
    for row in sheet.table.rows[1:]:
        if not _NOT_A_STUDENT.match(row[0] if row else ""):
            for column in sheet.guarded:
                if column < len(row):
                    row[column] = cell(row[column])


def _unknown(platform: Platform, scores: Scores) -> list[str]:
    """Say who cannot be found by the platform, as nothing of what it asks for is known."""

    def found(member: Member) -> bool:
        other = (member.person.id or member.person.login) if platform is Platform.CANVAS else ""
        return bool(member.number_on(platform) or other)

    names = [one.member.label for one in scores.students if not found(one.member)]
    return _named(f"{platform} may not know (see --template)", names)


def _other_points(sheet: _Sheet, scores: Scores) -> list[str]:
    try:
        possible = float(sheet.possible.replace(",", "."))
    except ValueError:
        return []
    if possible == scores.possible:
        return []
    return [
        f"{sheet.platform} has {sheet.possible} points for this assignment, and these scores are "
        f"of {cell(scores.possible)}: change the points there, for nothing was scaled"
    ]


def _named(what: str, names: Sequence[str]) -> list[str]:
    return [f"{what} ({len(names)}): {listed(names)}"] if names else []
