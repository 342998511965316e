"""Reads a lesson's passages from a stub or reference: where a hint sends its reader."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Passage:
    """A paragraph or bullet of a lesson."""

    section: str  # the heading that it stands under
    text: str  # without the signs for bold
    line: int  # in the stub, from 1


def read_lesson(stub: str) -> list[Passage]:
    """Return a lesson's paragraphs and bullets, in order."""
    passages: list[Passage] = []
    section, text, start, fenced = "", "", 0, False
    for number, line in enumerate([*stub.splitlines(), "# %%"], start=1):
        body = line[2:] if line.startswith("# ") else ""
        fenced ^= body.startswith("```")
        ends = not line.startswith("#") or not body or body.startswith(("#", "- ", "|", "%%"))
        if text and ends:
            passages.append(Passage(section, text.replace("**", ""), start))
            text = ""
        if body.startswith("#"):
            section = body.lstrip("# ").strip()
        elif body and not fenced and not body.startswith(("%%", "|", "```", "$$")):
            start = start if text else number
            text = f"{text} {body.strip().removeprefix('- ')}".strip()
    return passages


def find_passage(lesson: Sequence[Passage], begins: str) -> Passage | None:
    """Return the passage that begins with some words, None where none does or none are given."""
    return next((p for p in lesson if p.text.startswith(begins)), None) if begins else None


def find_section(lesson: Sequence[Passage], target: str) -> Passage | None:
    """Return the first passage of the section that is headed by a target's signature."""
    return next((p for p in lesson if f"{target}(" in p.section), None)
