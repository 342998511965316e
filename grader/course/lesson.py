"""Reads a lesson's passages from a stub or reference: where a hint sends its reader."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_BOLD = re.compile(r"\*\*(.+?)\*\*")
_NAMING = 6  # words by which a paragraph is known that begins neither bold nor briefly


@dataclass(frozen=True)
class Passage:
    """A paragraph or bullet of a lesson."""

    section: str  # the heading that it stands under
    text: str  # without the signs for bold
    line: int  # in the stub, from 1
    title: str = ""  # by which words it is found in its section; "" where it comes first there


def read_lesson(stub: str) -> list[Passage]:
    """Return a lesson's paragraphs and bullets, in order."""
    passages: list[Passage] = []
    section, text, start, fenced, formula = "", "", 0, False, False
    for number, line in enumerate([*stub.splitlines(), "# %%"], start=1):
        body = line[2:] if line.startswith("# ") else ""
        fenced ^= body.startswith("```")
        within, formula = formula, formula ^ (body.count("$$") == 1)
        ends = not line.startswith("#") or not body or body.startswith(("#", "- ", "|", "%%"))
        if text and ends:
            first = not passages or passages[-1].section != section
            title = _title(text, first=first)
            passages.append(Passage(section, text.replace("**", ""), start, title))
            text = ""
        if body.startswith("#"):
            section = body.lstrip("# ").strip()
        elif body and not (fenced or within) and not body.startswith(("%%", "|", "```", "$$")):
            start = start if text else number
            text = f"{text} {body.strip().removeprefix('- ')}".strip()
    return passages


def find_passage(lesson: Sequence[Passage], begins: str) -> Passage | None:
    """Return the passage that begins with some words, None where none does or none are given."""
    return next((p for p in lesson if p.text.startswith(begins)), None) if begins else None


def find_passages(lesson: Sequence[Passage], beginnings: Iterable[str]) -> tuple[Passage, ...]:
    """Return the passages that begin with some words, each once, in the order of the words."""
    found = [find_passage(lesson, begins) for begins in beginnings]
    return tuple(dict.fromkeys(passage for passage in found if passage))


def find_section(lesson: Sequence[Passage], target: str) -> tuple[Passage, ...]:
    """Return the first passage of the section that is headed by a target's signature, if any."""
    return tuple(p for p in lesson if f"{target}(" in p.section)[:1]


def _title(text: str, *, first: bool) -> str:
    """The bold words that a passage begins with, else a short sentence, else its first words."""
    if bold := _BOLD.match(text):
        return bold[1].rstrip(".,:")
    words = text.split()
    ends = (n for n, word in enumerate(words[:_NAMING], start=1) if word[-1] in ".?:")
    begun = " ".join(words[: next(ends, 0)]) or f"{' '.join(words[:_NAMING])}…"
    return "" if first else begun
