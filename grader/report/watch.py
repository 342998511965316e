"""The screen of `grade check --watch`."""

import click

from grader.records.results import Status
from grader.report.layout import wrapped
from grader.report.terminal import failure_lines, heading, note_lines, paragraph_lines
from grader.report.words import number, paragraphs, sole_reason
from grader.student.watch import Change, Turn

_LISTED = 4  # checks that changed and are named


def render_turn(turn: Turn, *, width: int = 80) -> str:
    """Return one screen: what changed, points by target, and the first that is not right."""
    result = turn.result
    lines = []
    if turn.finished:
        done = f"✓ {turn.finished} is complete. On to {result.exercise}."
        lines += [*(click.style(line, fg="green") for line in wrapped(done, width)), ""]
    lines += heading(result.exercise, result.title, result.score, result.max_score, width)
    if turn.change is not None:
        lines += ["", *_change_lines(turn.change, width)]
    lines.append("")
    told = paragraphs(result)
    for group in (paragraph.group for paragraph in told):
        passed = group.status is Status.PASSED
        mark = click.style("✓", fg="green") if passed else click.style("✗", fg="red")
        lines.append(f"  {mark} {group.name}  {number(group.score)} / {number(group.max_score)}")
    unfinished = [p for p in told if p.group.status is not Status.PASSED]
    if reason := sole_reason(result):
        lines += ["", *failure_lines(reason, width, named=False)]
    elif unfinished:
        lines += ["", *paragraph_lines(unfinished[0], width)]
    lines += note_lines(result, width)
    return "\n".join([*lines, "", *_footer(turn, width)]) + "\n"


def _change_lines(change: Change, width: int) -> list[str]:
    if not (change.points or change.passed or change.failed):
        return ["  no change"]
    lines = []
    if change.points:
        sign, colour = ("▲", "green") if change.points > 0 else ("▼", "red")
        way = "more" if change.points > 0 else "fewer"
        plural = "" if abs(change.points) == 1 else "s"
        text = f"{sign} {number(abs(change.points))} point{plural} {way}"
        lines.append(f"  {click.style(text, fg=colour)}")
    for label, names in (("right now: ", change.passed), ("no longer right: ", change.failed)):
        if names:
            more = f", and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
            text = ", ".join(names[:_LISTED]) + more
            lines += wrapped(text, width, first=f"  {label}", hang=4)
    return lines


def _footer(turn: Turn, width: int) -> list[str]:
    if turn.last:
        all_right = turn.earned >= turn.possible
        text = "That was the last: all exercises are complete." if all_right else "All is right."
        return [click.style(f"✓ {text}", fg="green")]
    where = f"of {turn.part}" if turn.part else "in all"
    total = f"{number(turn.earned)} of {number(turn.possible)} points {where}"
    help_ = f"save the file to check again · grade hint {turn.result.exercise} · Ctrl+C ends"
    return [click.style(line, dim=True) for line in wrapped(f"{total} · {help_}", width)]
