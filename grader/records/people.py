"""Who handed a submission in, and when: what platforms, rosters and the names of files tell."""

import json
import unicodedata
from dataclasses import asdict, dataclass
from enum import StrEnum


class Platform(StrEnum):
    """Where a submission was handed in."""

    FILES = "files"  # of which nothing is known but the name of a file or folder
    MOODLE = "moodle"
    CANVAS = "canvas"
    GRADESCOPE = "gradescope"
    GITHUB = "github"


@dataclass(frozen=True)
class Person:
    """Somebody of a class; what nobody has told is ""."""

    name: str = ""
    id: str = ""  # the platform's number of a person, or the university's
    email: str = ""
    login: str = ""
    group: str = ""

    @property
    def shown(self) -> str:
        """What a table calls this person, "" where only a number is known."""
        return self.name or self.login or self.email


@dataclass(frozen=True)
class Identity:
    """Whose a submission is, and when and how it was handed in."""

    people: tuple[Person, ...]  # several of a group
    platform: Platform = Platform.FILES
    name: str = ""  # what the platform calls the submission: submission_98765
    attempt: int = 0  # counted from 1; 0 where nobody has told
    time: str = ""  # ISO 8601
    late: bool = False  # as the platform says

    def to_json(self) -> str:
        """Return the text that `parse` reads."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @staticmethod
    def parse(text: str) -> "Identity":
        """Read `to_json`'s text."""
        plain = json.loads(text)
        people = tuple(Person(**person) for person in plain.pop("people"))
        return Identity(people, Platform(plain.pop("platform")), **plain)


def folded(text: str) -> str:
    """Return a text in which letters' case, and how an accent is written, make no difference."""
    return unicodedata.normalize("NFKC", text).casefold().strip()


def name_keys(name: str) -> frozenset[str]:
    """Return what a name may look like without spaces and marks, whichever part comes first.

    Example: "Lovelace, Ada" and "Ada Lovelace" have "lovelaceada" in common, as Canvas writes it.
    """
    marked = "".join(c if c.isalnum() else " " for c in folded(name))
    parts = marked.split()
    turns = ("".join(parts[turn:] + parts[:turn]) for turn in range(len(parts)))
    return frozenset(turns)
