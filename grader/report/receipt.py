"""The receipt of `grade pack`, for a terminal."""

import click

from grader.records.text import listed
from grader.report.layout import wrapped
from grader.report.words import number, part_lines
from grader.student.pack import Receipt


def render_receipt(receipt: Receipt, path: str, *, width: int = 80) -> str:
    """Return what is in the zip, with points on the public cases and the content's hash."""
    lines = [click.style(f"{path} is ready to hand in", bold=True), ""]
    for line in receipt.exercises:
        if not line.file:
            lines.append(f"  –  {line.exercise}  not there")
            continue
        mark = "✓" if line.status == "passed" else "✗"
        score = f"{number(line.score)} / {number(line.max_score)}"
        lines.append(f"  {mark}  {line.file}  {score}")
        if line.waits:
            said = (
                f"not trained as it is here: {listed(line.waits)}; "
                f"`grade train {line.exercise}` does it, then pack again"
            )
            lines += wrapped(said, width, first="     ", hang=5)
    total = f"{number(receipt.score)} / {number(receipt.max_score)} points on the public cases"
    lines += ["", *(f"  {line}" for line in part_lines(receipt.parts)), f"  {total}"]
    lines += wrapped(receipt.content, width, first="  ", hang=2)
    last = "Check that nothing is missing: the final score comes from other cases of the same kind."
    lines += ["", *wrapped(last, width)]
    return "\n".join(lines)
