"""What running a student's own code came to: watched, packed, tried and trained."""

import math
from collections.abc import Sequence

import click
import numpy as np

from grader.grading.learnt import Learnt
from grader.grading.tried import Outcome, Tried
from grader.records.calls import Array
from grader.records.results import Status
from grader.records.text import counted, ended, listed
from grader.report.layout import padded, width_of, wrapped
from grader.report.terminal import (
    failure_lines,
    heading,
    note_lines,
    paragraph_lines,
    printed_lines,
)
from grader.report.words import number, paragraphs, part_lines, sole_reason
from grader.student.pack import RECEIPT, Receipt
from grader.student.watch import Change, Turn

_LAST = (
    "Next: hand in this file, as your instructor says. "
    "The final score comes from other cases of the same kind."
)


def render_receipt(receipt: Receipt, path: str, *, place: str = "", width: int = 80) -> str:
    """Return what is in the zip, with points on the public cases and the content's hash.

    `place` is the folder that the zip lies in.
    """
    lines = [click.style(f"{path} is ready to hand in", bold=True), ""]
    there = [line for line in receipt.exercises if line.file]
    blank = sum(not line.begun for line in there)
    files = counted(len(there), "exercise") + (f" ({blank} not begun)" if blank else "")
    lines += wrapped(f"In it: {files}, and {RECEIPT} with what stands here.", width)
    lines += [*(wrapped(f"It lies in {place}", width) if place else ()), ""]
    for line in receipt.exercises:
        if not line.file:
            lines.append(f"  –  {line.exercise}  not there")
            continue
        mark = "✓" if line.status == "passed" else "✗" if line.begun else " "
        score = f"{number(line.score)} / {number(line.max_score)}"
        lines.append(f"  {mark}  {line.file}  {score}")
        if line.waits:
            said = (
                f"not trained as it is here: {listed(line.waits)}; "
                f"`grade train {line.exercise}` does it, then pack again"
            )
            lines += wrapped(said, width, first="     ", hang=5)
    total = f"{number(receipt.score)} / {number(receipt.max_score)} points on the public cases"
    lines += ["", *(f"  {line}".rstrip() for line in part_lines(receipt.parts)), f"  {total}"]
    lines += wrapped(receipt.content, width, first="  ", hang=2)
    lines += ["", *wrapped(_LAST, width)]
    return "\n".join(lines)


_LISTED = 4  # checks that changed and are named


def render_turn(turn: Turn, *, width: int = 80) -> str:
    """Return one screen: what changed, points by target, and the first that is not right."""
    result = turn.result
    lines = []
    if turn.finished:
        done = f"✓ {turn.finished} is complete. Next: grade read {result.exercise}"
        lines += [click.style(line, fg="green") for line in wrapped(done, width)]
        lines += [*_reminder_lines(turn, width), ""]
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
    lines += [*printed_lines(result, width), *note_lines(result, width)]
    if turn.reminder and not turn.finished:
        lines += ["", *_reminder_lines(turn, width)]
    return "\n".join([*lines, "", *_footer(turn, width)]) + "\n"


def _reminder_lines(turn: Turn, width: int) -> list[str]:
    return wrapped(turn.reminder, width, first="  ", hang=2) if turn.reminder else []


def _change_lines(change: Change, width: int) -> list[str]:
    if not (change.points or change.passed or change.failed):
        return ["  as many points as before"]
    lines = []
    if change.points:
        sign, colour = ("▲", "green") if change.points > 0 else ("▼", "red")
        way = "more" if change.points > 0 else "fewer"
        plural = "" if abs(change.points) == 1 else "s"
        text = f"{sign} {number(abs(change.points))} point{plural} {way}"
        lines.append(f"  {click.style(text, fg=colour)}")
    for label, names in (("now right: ", change.passed), ("no longer right: ", change.failed)):
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
    right = turn.result.status is Status.PASSED
    hint = "" if right else f"grade hint {turn.result.exercise} · "
    help_ = f"save the file to check again · {hint}Ctrl+C ends"
    return [click.style(line, dim=True) for line in wrapped(f"{total} · {help_}", width)]


# ---- try: a question, and what came out beside the guess -----------------------------------------


_EIGHTHS = " ▏▎▍▌▋▊▉█"
_SHADES = " ░▒▓█"
_BAR = 40  # columns of the longest bar, at most
_LEGEND = (
    "Shades: the fuller, the further from zero, above or below; ██ stands for the largest numbers "
    "of its table."
)


def render_question(tried: Tried, *, width: int = 80) -> str:
    """Return a question with its choices and the lines that will be run."""
    question = tried.question
    title = f"{tried.exercise} · question {tried.number} of {tried.count} · {question.title}"
    lines = [click.style(title, bold=True), "", *wrapped(question.asks, width, first="  ", hang=2)]
    lines.append("")
    for place, choice in enumerate(question.choices, start=1):
        lines += wrapped(ended(choice), width, first=f"  {place}  ", hang=5)
    return "\n".join(
        [*lines, "", *(f"    {line}".rstrip() for line in question.lines.splitlines())]
    )


def render_outcome(tried: Tried, *, width: int = 80, command: str = "grade ") -> str:
    """Return what came out, drawn, beside the guess; `command` is how one begins here."""
    question, outcome = tried.question, tried.outcome or Outcome()
    if outcome.trouble:
        lines = wrapped(ended(capital(outcome.trouble)), width, first="  ", hang=2)
        lines += wrapped(ended(capital(remedy(tried, command))), width, first="  next  ", hang=8)
        return "\n".join(lines)
    lines = []
    for caption, array in zip(question.shows, outcome.drawn, strict=True):
        lines += [f"  {caption}", *_drawing(tried, array, width), ""]
    if question.draw == "map" and lines:
        lines += [*wrapped(_LEGEND, width, first="  ", hang=2), ""]
    for sentence in told(tried, command):
        lines += wrapped(sentence, width, first="  ", hang=2)
    return "\n".join([*lines, "", *wrapped(why(tried), width, first="  ", hang=2)])


def remedy(tried: Tried, command: str = "grade ") -> str:
    """Return what to do where nothing came out: a check says more where nothing else is known."""
    known = tried.outcome.remedy if tried.outcome else ""
    done = known or f"`{command}check {tried.exercise}` says more"
    return f"{done}; your guess, {tried.guess}, is kept" if tried.waits else done


def told(tried: Tried, command: str = "grade ") -> list[str]:
    """Return the guess and what came out, a sentence each."""
    question, outcome, guess = tried.question, tried.outcome or Outcome(), tried.guess
    answer = ended(f"{question.answer}: {question.choices[question.answer - 1]}")
    sentences = []
    if guess is not None:
        sentences.append(ended(f"You guessed {guess}: {question.choices[guess - 1]}"))
    same = guess == question.answer
    if outcome.held:
        return [*sentences, "That is what came out." if same else f"What came out is {answer}"]
    return [
        *sentences,
        "That is right." if same else f"The right answer is {answer}",
        "Your code gives other numbers, so a part of it is not right yet: "
        f"{command}check {tried.exercise}",
    ]


def why(tried: Tried) -> str:
    """Return the reason of a right answer, said of right code where other numbers came out."""
    other = tried.outcome is not None and not tried.outcome.held
    return f"{'With right code: ' if other else ''}{tried.question.because}"


def capital(sentence: str) -> str:
    """Return a sentence that begins with a capital letter, or with a name as it is."""
    first = sentence.partition(" ")[0]
    if "." in first or "_" in first:
        return sentence
    return f"{sentence[:1].upper()}{sentence[1:]}"


# ---- drawings ------------------------------------------------------------------------------------


def _drawing(tried: Tried, array: Array, width: int) -> list[str]:
    question = tried.question
    if question.draw == "bars":
        top = largest((tried.outcome or Outcome()).drawn)
        return _bars(np.atleast_1d(array).ravel(), question.columns, top, width)
    return _table(np.atleast_2d(array), question.rows, question.columns, question.draw, width)


def largest(arrays: Sequence[Array]) -> float:
    """Return the largest size of a number, by which all drawings of a question are scaled."""
    sizes = np.concatenate([np.abs(array).ravel() for array in arrays])
    return float(max(sizes[np.isfinite(sizes)], default=0.0)) or 1.0


def shown(value: float) -> str:
    """Return a number in few digits."""
    if not math.isfinite(value):
        return str(value)
    if value and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.1e}"
    return f"{value:.4g}" if abs(value) >= 1 else f"{round(value, 3):g}"


def names_for(names: Sequence[str], count: int) -> list[str]:
    """Return the names of so many things, numbers from 0 where they have none."""
    return list(names) if len(names) == count else [str(n) for n in range(count)]


def _bars(values: Array, names: Sequence[str], top: float, width: int) -> list[str]:
    labels = names_for(names, len(values))
    numbers = [shown(value) for value in values.tolist()]
    wide, digits = max(map(width_of, labels)), max(map(len, numbers))
    most = max(8, min(_BAR, width - wide - digits - 8))
    return [
        f"    {padded(label, wide)}  {padded(number, digits, right=True)}  "
        f"{_bar(value / top * most)}".rstrip()
        for label, number, value in zip(labels, numbers, values.tolist(), strict=True)
    ]


def _bar(length: float) -> str:
    """Return a bar of so many columns, to an eighth; a grey one for less than none."""
    if not math.isfinite(length):
        return ""
    if length < 0:
        return _SHADES[2] * round(-length)
    whole, part = divmod(round(length * 8), 8)
    return f"{_EIGHTHS[8] * whole}{_EIGHTHS[part].strip()}"


def _table(
    values: Array, rows: Sequence[str], columns: Sequence[str], draw: str, width: int
) -> list[str]:
    """Return numbers in rows, with a shade behind each in a map; shades alone where it is wide."""
    count, across = values.shape
    sides, tops = names_for(rows, count), names_for(columns, across)
    shades = _shades(values) if draw == "map" else [[""] * across] * count
    cells = [
        [f"{shown(value)} {shade * 2}".rstrip() if not shade else f"{shown(value)} {shade * 2}"
         for value, shade in zip(line, marks, strict=True)]
        for line, marks in zip(values.tolist(), shades, strict=True)
    ]  # fmt: skip
    side = max(map(width_of, sides))
    size = max(width_of(text) for text in [*tops, *(cell for line in cells for cell in line)])
    if draw == "map" and side + 6 + across * (size + 2) > width:
        return [f"    {padded(s, side)}  {''.join(m * 2 for m in line)}|" for s, line in
                zip(sides, shades, strict=True)]  # fmt: skip
    lines = [["", *tops], *([s, *line] for s, line in zip(sides, cells, strict=True))]
    return [
        f"    {padded(s, side)}  {'  '.join(padded(c, size, right=True) for c in rest)}".rstrip()
        for s, *rest in lines
    ]


def _shades(values: Array) -> list[list[str]]:
    top = largest([values])
    return [
        [
            _SHADES[min(4, math.ceil(abs(v) / top * 4 - 1e-9))] if math.isfinite(v) else "?"
            for v in line
        ]
        for line in values.tolist()
    ]


# ---- train ---------------------------------------------------------------------------------------


def render_learnt(found: Sequence[Learnt], width: int) -> str:
    """Return what each model reached, what is lost without a part, and what one of text writes."""
    lines = []
    for one in found:
        lines += ["", *wrapped(ended(f"{one.target}: {one.told}"), width, hang=2)]
        for part, figure in one.lacking:
            lines += wrapped(ended(f"without {part}: {figure}"), width, first="  ", hang=4)
        for step, text in one.written:
            lines += ["", f"  after {step} steps it writes"]
            lines += wrapped(text, width, first="    ", hang=4)
    return "\n".join([*lines, ""])
