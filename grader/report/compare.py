"""The words of `grade compare`."""

from collections.abc import Sequence

import click

from grader.records.text import counted, printable
from grader.report.layout import padded, width_of, wrapped
from grader.student.compare import Comparison, Difference

_GAP = "  │  "


def render_comparison(exercise: str, compared: Sequence[Comparison], *, width: int = 80) -> str:
    """Return each target's two versions, beside each other where they fit, and what differs."""
    return "\n\n".join("\n".join(_target_lines(exercise, one, width)) for one in compared)


def _target_lines(exercise: str, one: Comparison, width: int) -> list[str]:
    lines = [click.style(f"{exercise} · {one.target}", bold=True), ""]
    lines += _versions(one, width)
    lines.append("")
    if not one.own:
        return [*lines, *wrapped("You have no definition of it.", width, first="  ")]
    if not one.right:
        said = (
            f"Yours passes {one.passed} of {counted(one.checks, 'check')}, so they differ in more "
        )
        said += f"than the way. What is not right yet: grade hint {exercise}"
        return [*lines, *wrapped(said, width, first="  ▸ ", hang=4)]
    said = f"Both pass all {counted(one.checks, 'check')}, so both are right. "
    said += _length(one)
    lines += wrapped(said, width, first="  ▸ ", hang=4)
    for difference in one.differences:
        lines += wrapped(_told(difference), width, first="  - ", hang=4)
    return lines


def _length(one: Comparison) -> str:
    own, reference = len(one.own), len(one.reference)
    if own == reference:
        return f"Each has {counted(own, 'line')}."
    return f"Yours has {counted(own, 'line')}, the reference {reference}."


def _told(difference: Difference) -> str:
    own = " and ".join(difference.own)
    reference = " and ".join(difference.reference)
    purpose = f"{difference.purpose[:1].upper()}{difference.purpose[1:]}"
    return (
        f"{purpose}: you take {own}, the reference {reference}. {'; '.join(difference.meanings)}."
    )


def _versions(one: Comparison, width: int) -> list[str]:
    own = ["yours", *map(printable, one.own)]
    reference = ["the reference", *one.reference]
    left, right = max(map(width_of, own)), max(map(width_of, reference))
    if 2 + left + len(_GAP) + right > width:
        return [f"  {line}".rstrip() for line in (*own, "", *reference)]
    rows = max(len(own), len(reference))
    own += [""] * (rows - len(own))
    reference += [""] * (rows - len(reference))
    pairs = zip(own, reference, strict=True)
    return [f"  {padded(a, left)}{_GAP}{b}".rstrip() for a, b in pairs]
