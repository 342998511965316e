"""A made-up term of sixty students over four platforms: `python tests/term.py STEP FOLDER`.

The steps are what happens outside of grader: `first` and `second` are two downloads, `fix` mends
the course, whose reference is wrong at first. The instructors' page is played on them.
"""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

COURSE = Path(__file__).resolve().parent / "courses" / "statistics"
GIVEN = (
    "Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ivo", "Jun", "Kim", "Lea",
)  # fmt: skip
FAMILY = ("Archer", "Brown", "Crane", "Drake", "Engel")
PAIR = (0, 1)  # hand in together on Moodle, as do the two on Gradescope
DUO = (30, 31)
NOTHING = (14, 59)  # hand in nothing
LATE = 17  # on Canvas, which does not tell by how much
AGAIN = (2, 16, 33, 46)  # hand in a second time, all right
GONE = 28  # is on Canvas no more
TIMES = {  # on Gradescope, in UTC; all others were in time
    35: "2026-10-27 23:05:00 Z",  # within the grace
    36: "2026-10-28 20:00:00 Z",
    37: "2026-10-29 12:00:00 Z",  # has an extension
}
IN_TIME = "2026-10-26 18:00:00 Z"
FIRST, SECOND = "exercise1_columns.py", "exercise2_average.py"
REFERENCE, WRONG = "centred.square().mean(dim=0, keepdim=True)", "x.var(dim=0, keepdim=True)"

COLUMNS = '''"""Columns of a table."""

import torch


def standardize(x, *, eps=1e-6):
    {body}


def histogram(labels, num_bins):
    kinds = torch.arange(num_bins, device=labels.device)
    return (labels[:, None] == kinds).to(torch.get_default_dtype()).mean(0)
'''
RIGHT = "return (x - x.mean(0)) / (x.var(0, unbiased=False) + eps).sqrt()"
BODIES = (
    RIGHT,
    RIGHT,
    RIGHT.replace(", unbiased=False", ""),
    RIGHT.replace(" + eps", ""),
    "raise NotImplementedError",
    RIGHT,  # with exercise 2
)


@dataclass(frozen=True)
class Student:
    """One of the sixty."""

    number: int

    @property
    def given(self) -> str:
        """The given name."""
        return GIVEN[self.number % len(GIVEN)]

    @property
    def family(self) -> str:
        """The family name."""
        return FAMILY[self.number // len(GIVEN)]

    @property
    def login(self) -> str:
        """The login, no other's."""
        return f"{self.given}-{self.family}".lower()

    @property
    def files(self) -> dict[str, str]:
        """What is handed in at first."""
        kind = self.number % len(BODIES)
        files = {FIRST: COLUMNS.format(body=BODIES[kind])}
        if kind == len(BODIES) - 1:
            files[SECOND] = (COURSE / "solutions" / SECOND).read_text("utf-8")
        return files

    @property
    def later(self) -> dict[str, str]:
        """What is handed in the second time."""
        right = {FIRST: COLUMNS.format(body=RIGHT)}
        return right if self.number in AGAIN else self.files


STUDENTS = tuple(Student(number) for number in range(60))
MOODLE, CANVAS, GRADESCOPE, GITHUB = (STUDENTS[n : n + 15] for n in range(0, 60, 15))


def main(step: str, place: Path) -> None:
    """Let a step happen, and tell of it."""
    steps = {"first": _first, "second": _second, "fix": _fix}
    for line in steps[step](place):
        sys.stdout.write(f"{line}\n")


def _first(place: Path) -> Iterator[str]:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(COURSE, place / "course")
    _change_solution(place, REFERENCE, WRONG)
    _write(place / "class.csv", "\n".join(["id,name,email,login,group", *map(_listed, STUDENTS)]))
    _write(place / "gradebook.csv", "\n".join(_gradebook()))
    _write(place / "worksheet.csv", "\n".join(_worksheet()))
    _download(place, second=False)
    yield f"downloads of {len(STUDENTS) - len(NOTHING)} students, on four platforms"


def _second(place: Path) -> Iterator[str]:
    for name in ("moodle", "canvas", "gradescope", "statistics-submissions"):
        shutil.rmtree(place / name)
    _download(place, second=True)
    yield f"{len(AGAIN)} students handed in again: {', '.join(STUDENTS[n].login for n in AGAIN)}"
    yield f"{STUDENTS[GONE].login} is on Canvas no more"


def _fix(place: Path) -> Iterator[str]:
    _change_solution(place, WRONG, REFERENCE)
    yield "the reference divides by n, as the lesson says, and no longer by n - 1"


def _change_solution(place: Path, old: str, new: str) -> None:
    path = place / "course" / "solutions" / FIRST
    text = path.read_text("utf-8")
    if old not in text:
        raise SystemExit(f"{path} does not have {old}")
    _write(path, text.replace(old, new))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


# ---- what platforms let download -----------------------------------------------------------------


def _download(place: Path, *, second: bool) -> None:
    def files(student: Student) -> dict[str, str]:
        return student.later if second else student.files

    metadata = {}
    for one in STUDENTS:
        if one.number in (*NOTHING, PAIR[1], DUO[1]) or (second and one.number == GONE):
            continue
        for name, text in files(one).items():
            _write(place / _path(one, name, second=second), text)
        if one in GITHUB:
            _write(place / _path(one, ".git", second=second) / "config", "")
        if one in GRADESCOPE:
            metadata[f"submission_{one.number}"] = _submitted(one, second=second)
    _write(place / "gradescope" / "submission_metadata.yml", yaml.safe_dump(metadata))


def _path(one: Student, name: str, *, second: bool) -> str:
    if one in MOODLE:
        called = "Pair A_7" if one.number == PAIR[0] else f"{one.given} {one.family}_{one.number}"
        return f"moodle/{called}_assignsubmission_file/{name}"
    if one in CANVAS:
        late = "LATE_" if one.number == LATE else ""
        again = "-1" if second and one.number in AGAIN else ""
        who = f"{one.family}{one.given}".lower()
        return f"canvas/{who}_{late}{one.number}_{one.number}_{Path(name).stem}{again}.py"
    if one in GRADESCOPE:
        return f"gradescope/submission_{one.number}/{name}"
    return f"statistics-submissions/statistics-{one.login}/{name}"


def _submitted(one: Student, *, second: bool) -> dict[str, object]:
    people = [STUDENTS[n] for n in DUO] if one.number == DUO[0] else [one]
    return {
        ":submitters": [
            {":name": f"{p.given} {p.family}", ":sid": f"u{p.number}", ":email": _address(p)}
            for p in people
        ],
        ":created_at": yaml.safe_load(TIMES.get(one.number, IN_TIME)),
        ":history": [{}] if second and one.number in AGAIN else [],
    }


def _address(one: Student) -> str:
    return f"{one.login}@example.org"


def _listed(one: Student) -> str:
    group = "Pair A" if one.number in PAIR else ""
    return f"u{one.number},{one.given} {one.family},{_address(one)},{one.login},{group}"


def _gradebook() -> Iterator[str]:
    yield "Student,ID,SIS User ID,SIS Login ID,Section,Statistics (77),Current Score"
    yield "    Points Possible,,,,,20,(read only)"
    for one in CANVAS:
        yield f'"{one.family}, {one.given}",{one.number},u{one.number},{one.login},Autumn,,'


def _worksheet() -> Iterator[str]:
    yield (
        "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
        "Last modified (submission),Last modified (grade),Feedback comments"
    )
    for one in MOODLE:
        name = f"{one.given} {one.family}"
        yield f"Participant {one.number},{name},{_address(one)},,,20.00,Yes,-,-,"


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
