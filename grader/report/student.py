"""The words of list, hint and compare, for a terminal."""

from collections.abc import Sequence

import click

from grader.records.text import counted, listed, printable
from grader.report.formulas import plain
from grader.report.layout import columns, padded, width_of, wrapped
from grader.report.terminal import heading
from grader.report.words import number, part_lines
from grader.student.compare import Comparison, Difference
from grader.student.hints import Advice, Told, words_given
from grader.student.progress import ExerciseStanding, Standing

# ---- list ----------------------------------------------------------------------------------------


_BAR = 20  # columns


def render_standing(standing: Standing, *, command: str = "grade ", width: int = 80) -> str:
    """Return a line an exercise, the points together, and what to do next.

    `command` is how a command begins.
    """
    rows = standing.exercises
    lines = heading(standing.title, "", standing.score, standing.points, width)
    filled = int(_BAR * standing.score / standing.points) if standing.points else 0
    lines += [click.style("█" * filled, fg="green") + "░" * (_BAR - filled), ""]
    lines += part_lines(standing.parts)
    names = columns([(row.exercise, _points(row)) for row in rows], "<>")
    for row, name in zip(rows, names, strict=True):
        mark, colour = ("✓", "green") if row.passed else (" " if row.score is None else "✗", "red")
        text = f"{row.title}{_remark(row)}"
        lines += wrapped(text, width, first=f"{click.style(mark, fg=colour)} {name}  ", hang=4)
    return "\n".join([*lines, "", *_next_lines(rows, command, width)])


def _points(row: ExerciseStanding) -> str:
    return f"{'–' if row.score is None else number(row.score)} / {number(row.points)}"


def _remark(row: ExerciseStanding) -> str:
    if row.missing:
        return f" ({row.missing})"
    return " (changed after the last check)" if row.changed else ""


def _next_lines(rows: Sequence[ExerciseStanding], command: str, width: int) -> list[str]:
    changed = [row for row in rows if row.changed]
    open_ = [row for row in rows if not row.passed]
    if not open_ and not changed:
        return wrapped("All exercises are complete. Next: grade pack", width)
    row = (changed or open_)[0]
    if row.missing:
        return wrapped(f"Next: {row.remedy}", width)
    step = f"{command}read {row.exercise}"
    if row.changed or row.score:
        step = f"{command}{'check' if row.changed else 'hint'} {row.exercise}"
    return wrapped(f"Next: {step}", width)


# ---- hint ----------------------------------------------------------------------------------------


_QUOTED_FROM = 2  # the degree from which the lesson's passages are quoted
_QUOTED = 2  # passages at most; of more the titles tell enough


def render_told(
    told: Told | None,
    exercise: str,
    target: str = "",
    *,
    handed: str = "",
    notebook: bool = False,
    command: str = "grade ",
    kept: bool = True,
    width: int = 80,
) -> str:
    """Return the hints that were told, the newest last, and where the lesson speaks of it.

    `target` is the one that was asked for, if any, and `handed` the option that says where the work
    is. A line is named where the student has a file of lines, and not a notebook. `command` is how
    a command begins; the next hint is offered where it is `kept` which were told.
    """
    given = words_given(exercise, target, handed)
    if told is None:
        return f"{target or exercise} is complete: no hint is needed."
    advice, degree = told.advice, told.degree
    count = len(advice.hints)
    lines = [click.style(f"{exercise} · {advice.target} · hint {degree} of {count}", bold=True)]
    if advice.finding:
        lines += ["", *wrapped(advice.finding, width, first="  ▸ ", hang=4)]
    lines.append("")
    for place, hint in enumerate(advice.hints[:degree], start=1):
        lines += wrapped(hint, width, first=f"  {place}  ", hang=5)
    for where in _where(advice, degree, notebook=notebook):
        lines += ["", *wrapped(where, width, first="  ", hang=2)]
    what, after = "that was the plainest; your run step by step", f"{command}explain {given}"
    if not advice.ran:
        what, after = "that was the plainest; the lesson", f"{command}read {exercise}"
    if degree < count:
        what, after = "a plainer one", f"{command}hint {given}"
        if not kept:
            what, after = "all of them", f"{after} --all"
    lines += ["", *wrapped(f"{what}: {after}", width, first="  ", hang=2)]
    return "\n".join([*lines, *_of_others(told, exercise, handed, command, width)])


def _of_others(told: Told, exercise: str, handed: str, command: str, width: int) -> list[str]:
    """Say what else there are hints on."""
    if not told.others:
        return []
    after = f"{command}hint {words_given(exercise, told.others[0], handed)}"
    each = ", each by its name" if told.others[1:] else ""
    said = f"there are hints on {listed(told.others)}, too{each}: {after}"
    return wrapped(said, width, first="  ", hang=2)


def _where(advice: Advice, degree: int, *, notebook: bool) -> list[str]:
    """Return where the lesson speaks of it, and what it says from some degree on."""
    passages = advice.lesson
    cut = any(p.text.endswith(":") for p in passages)  # before a drawing, which cannot be quoted
    if degree >= _QUOTED_FROM and len(passages) <= _QUOTED and not cut:
        return [
            plain(f"lesson, “{p.section}”: {p.text}" if p.text else f"lesson, “{p.section}”")
            for p in passages
        ]
    titles: dict[str, list[str]] = {}
    for one in passages:
        line = "" if notebook else f" (line {one.line} of the stub)"
        titled = f"“{plain(one.title)}”" if one.title else ""
        titles.setdefault(one.section, []).append(f"{titled}{line}".strip())
    return [
        f"lesson, “{section}”{':' if own[0].startswith('“') else ''} {'; '.join(own)}".rstrip()
        for section, own in titles.items()
    ]


# ---- compare -------------------------------------------------------------------------------------


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
