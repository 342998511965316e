"""The words of `grade hint`."""

import click

from grader.report.formulas import plain
from grader.report.layout import wrapped
from grader.student.hints import Advice, Told

_QUOTED_FROM = 2  # the degree from which the lesson's passages are quoted
_QUOTED = 2  # passages at most; of more the titles tell enough


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
    for where in _where(advice, degree, notebook=notebook):
        lines += ["", *wrapped(where, width, first="  ", hang=2)]
    after = f"{command}{'hint' if degree < count else 'explain'} {given}"
    if degree < count and not kept:
        return "\n".join(lines)
    what = "a plainer one" if degree < count else "that was the plainest; your run step by step"
    return "\n".join([*lines, "", *wrapped(f"{what}: {after}", width, first="  ", hang=2)])


def _where(advice: Advice, degree: int, *, notebook: bool) -> list[str]:
    """Return where the lesson speaks of it, and what it says from some degree on."""
    passages = advice.lesson
    if degree >= _QUOTED_FROM and len(passages) <= _QUOTED:
        return [plain(f"lesson, “{p.section}”: {p.text}") for p in passages]
    titles: dict[str, list[str]] = {}
    for one in passages:
        line = "" if notebook else f" (line {one.line})"
        titled = f"“{plain(one.title)}”" if one.title else ""
        titles.setdefault(one.section, []).append(f"{titled}{line}".strip())
    return [
        f"lesson, “{section}”{'' if own[0].startswith('(') else ':'} {'; '.join(own)}".rstrip()
        for section, own in titles.items()
    ]
