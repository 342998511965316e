"""The words of `grade hint`."""

import click

from grader.report.layout import wrapped
from grader.student.hints import Advice, Told

_QUOTED_FROM = 2  # the degree from which the lesson's passage is quoted


def render_told(
    told: Told | None,
    given: str,
    *,
    notebook: bool = False,
    command: str = "grade ",
    kept: bool = True,
    width: int = 80,
) -> str:
    """Return what a student is told, a line where all is right; the rest as in `render_hint`."""
    if told is None:
        return f"{given.partition(' ')[0]} is complete: no hint is needed."
    return render_hint(
        told.advice, given, told.degree, notebook=notebook, command=command, kept=kept, width=width
    )


def render_hint(
    advice: Advice,
    given: str,
    degree: int,
    *,
    notebook: bool = False,
    command: str = "grade ",
    kept: bool = True,
    width: int = 80,
) -> str:
    """Return the hints up to a degree, the newest last, and where the lesson speaks of it.

    `given` is what the command was given: the exercise, and where it was handed in. A line is named
    where the student has a file of lines, and not a notebook. `command` is how a command begins;
    the next hint is offered where it is `kept` which were told.
    """
    count, exercise = len(advice.hints), given.partition(" ")[0]
    lines = [click.style(f"{exercise} · {advice.target} · hint {degree} of {count}", bold=True)]
    if advice.finding:
        lines += ["", *wrapped(advice.finding, width, first="  ▸ ", hang=4)]
    lines.append("")
    for number, hint in enumerate(advice.hints[:degree], start=1):
        lines += wrapped(hint, width, first=f"  {number}  ", hang=5)
    if where := _where(advice, degree, notebook=notebook):
        lines += ["", *wrapped(where, width, first="  ", hang=2)]
    after = f"{command}{'hint' if degree < count else 'explain'} {given}"
    if degree < count and not kept:
        return "\n".join(lines)
    what = "a plainer one" if degree < count else "that was the plainest; your run step by step"
    return "\n".join([*lines, "", *wrapped(f"{what}: {after}", width, first="  ", hang=2)])


def _where(advice: Advice, degree: int, *, notebook: bool) -> str:
    """Return where the lesson speaks of it, and what it says from some degree on."""
    if advice.lesson is None:
        return ""
    where = f"lesson, “{advice.lesson.section}”"
    if degree >= _QUOTED_FROM:
        return f"{where}: {advice.lesson.text}"
    return where if notebook else f"{where}, from line {advice.lesson.line}"
