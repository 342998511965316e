"""The words of `grade hint`."""

import click

from grader.report.layout import wrapped
from grader.student.hints import Advice

_QUOTED_FROM = 2  # the degree from which the lesson's passage is quoted


def render_hint(
    advice: Advice, given: str, degree: int, *, notebook: bool = False, width: int = 80
) -> str:
    """Return the hints up to a degree, the newest last, and where the lesson speaks of it.

    `given` is what the command was given: the exercise, and where it was handed in. A line is named
    where the student has a file of lines, and not a notebook.
    """
    count = len(advice.hints)
    exercise = given.partition(" ")[0]
    lines = [click.style(f"{exercise} · {advice.target} · hint {degree} of {count}", bold=True)]
    if advice.finding:
        lines += ["", *wrapped(advice.finding, width, first="  ▸ ", hang=4)]
    lines.append("")
    for number, hint in enumerate(advice.hints[:degree], start=1):
        lines += wrapped(hint, width, first=f"  {number}  ", hang=5)
    if advice.lesson is not None:
        lines.append("")
        where = f"lesson, “{advice.lesson.section}”"
        if degree >= _QUOTED_FROM:
            lines += wrapped(f"{where}: {advice.lesson.text}", width, first="  ", hang=2)
        else:
            line = "" if notebook else f", from line {advice.lesson.line}"
            lines += wrapped(f"{where}{line}", width, first="  ", hang=2)
    after = f"grade hint {given}" if degree < count else f"grade explain {given}"
    what = "a plainer one" if degree < count else "that was the plainest; your run step by step"
    return "\n".join([*lines, "", *wrapped(f"{what}: {after}", width, first="  ", hang=2)])
