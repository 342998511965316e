"""A run of a student's own code: its steps beside those expected, and tensor by tensor."""

from collections.abc import Collection, Sequence
from itertools import groupby

import click
import numpy as np

from grader.grading.trace import Made, Step, Trace
from grader.records.results import State
from grader.records.text import clean, ended, listed, shown_shape
from grader.report.layout import columns, width_of, wrapped

_OPEN = "– not told"
_MANY = 4  # lines alike that become one
_LINES = 40  # tensors of a run that are listed
_ALIKE = "A shape has no letters where a size could be two of them:"
_NOT_TOLD = "Not told is what is done in another way than expected, and what is not certain."
_ENDED = (
    "Not told is what your run did not reach, what is done in another way than expected, and what "
    "is not certain: it ended before the last step."
)
# what torch calls operations inside, by the names under which they are written
_NAMES = {"_unsafe_view": "reshape", "bmm": "matmul", "mm": "matmul", "addmm": "linear"}


def render_run(
    trace: Trace | None, exercise: str, target: str, beside: Sequence[str] = (), *, width: int = 80
) -> str:
    """Return the steps of a target with their shapes, and then the run tensor by tensor.

    A line where none can be shown; last, what is to be said beside it.
    """
    last = [line for said in beside for line in ("", *wrapped(said, width, first="  ", hang=4))]
    if trace is None:
        none = f"{exercise}: {target} has no case whose steps can be shown."
        return "\n".join([none, *last])
    lines = [click.style(f"{exercise} · {trace.target}", bold=True)]
    lines += wrapped(f"case {trace.shown_case}", width, first="  ", hang=2)
    if trace.steps:
        lines += ["", *_step_lines(trace, width)]
    if alike := trace.alike:
        lines += ["", *wrapped(f"{_ALIKE} {listed(alike)}.", width, first="  ", hang=2)]
    if any(_found(step, trace) == _OPEN for step in trace.steps):
        said = _ENDED if trace.stopped else _NOT_TOLD
        lines += ["", *wrapped(said, width, first="  ", hang=2)]
    if trace.trouble:
        lines += ["", *wrapped(ended(trace.trouble), width, first="  ", hang=4)]
    if any(not m.given for m in trace.made):
        lines += ["", "  Your run, tensor by tensor:", *_made_lines(trace, width)]
    return "\n".join([*lines, *last]).rstrip("\n")


def _step_lines(trace: Trace, width: int) -> list[str]:
    rows = [(s.name, _shape(trace, s.values.shape), _found(s, trace)) for s in trace.steps]
    head, *lines = columns([("step", "expected", "in your run"), *rows], "<<<", indent=2)
    if max(map(width_of, (head, *lines))) > width:
        return [
            _coloured(line)
            for name, shape, found in rows
            for line in (f"  {name}  {shape}", f"    {found}")
        ]
    return [click.style(head, dim=True), *map(_coloured, lines)]


def _found(step: Step, trace: Trace) -> str:
    match step.state:
        case State.RIGHT:
            return "✓ the same values"
        case State.WRONG:
            if step.held is None or step.there or step.reshaped:
                return f"✗ {step.lacking}"
            if step.held.shape != step.values.shape:
                return f"✗ yours has the shape {shown_shape(step.held.shape)}"
            return "✗ yours has other values"
        case State.NOT_REACHED:
            return "– not reached"
        case State.OPEN:
            if step.there and step.name in (trace.expected or ()) and not trace.actual:
                return "– made, but not returned"
            return "– follows from a wrong step" if step.name in trace.behind else _OPEN


def _coloured(line: str) -> str:
    for mark, colour in (("✓", "green"), ("✗", "red")):
        line = line.replace(mark, click.style(mark, fg=colour))
    return line


def _made_lines(trace: Trace, width: int) -> list[str]:
    told: set[str] = set()
    every = []
    of_lines = [list(some) for _, some in groupby(trace.made, _of_one)]
    for made, steps in zip(of_lines, _steps_of(of_lines), strict=True):
        every.append(_row(trace, made, steps, told))
        told.update([*steps, *(step for one in made for step in one.steps)])
    counted = [one for row, same in groupby(every) for one in _counted(row, len(list(same)))]
    rows = [_times(*one) for one in counted[:_LINES]]
    alone = columns([row[:2] for row in rows], "<<", indent=4)
    lines = []
    for row, line, short in zip(rows, columns(rows, "<<<", indent=4), alone, strict=True):
        broken = row[2] and width_of(line) > width
        lines += [short, f"      {row[2]}"] if broken else [line]
    more = sum(count for _, count in counted[_LINES:])
    lines += [f"    and {more} more"] if more > 0 else []
    return [*lines, "    and others, which were not recorded"] if trace.full else lines


def _steps_of(lines: Sequence[Sequence[Made]]) -> list[list[str]]:
    """The steps of each line's own tensor.

    A product joins axes inside, and so comes to a step's shape: the line whose tensor it was, with
    the same numbers in the same order, is where a reader finds that step.
    """
    steps = [[*made[-1].steps] for made in lines]
    for place, made in enumerate(lines):
        for one in made[:-1]:
            until = place if made[-1].call else place + 1  # what a call made inside is its own
            first = next((i for i in range(until) if _same_rows(lines[i][-1], one)), None)
            if first is not None:
                steps[first] += [step for step in one.steps if step not in steps[first]]
    return steps


def _same_rows(one: Made, other: Made) -> bool:
    """Whether two tensors have the same numbers in the same order, in rows of one length."""
    same = one.values.shape[-1:] == other.values.shape[-1:]
    return same and np.array_equal(one.values.ravel(), other.values.ravel())


def _counted(row: tuple[str, str, str], count: int) -> list[tuple[tuple[str, str, str], int]]:
    """Take lines alike for one where a loop makes them, and there are many."""
    return [(row, count)] if count >= _MANY else [(row, 1)] * count


def _times(row: tuple[str, str, str], count: int) -> tuple[str, str, str]:
    """Return a line that stands for as many alike."""
    return row if count == 1 else (*row[:2], f"{count} times{'; ' if row[2] else ''}{row[2]}")


def _of_one(made: Made) -> object:
    """What tells the tensors of one line: a call, or where in the text they were made."""
    return made.call or made.place or id(made)


def _row(
    trace: Trace, made: Sequence[Made], own: Sequence[str], before: Collection[str]
) -> tuple[str, str, str]:
    """What one line tells: an operation, or a call and all that was made in it.

    `own` are the steps of its own tensor. What lines `before` told needs no word again where it
    only comes up inside.
    """
    last = made[-1]
    name = clean(f"{last.call.partition(' ')[2]}()", 40) if last.call else last.written
    name = name or _plain(last.operation)
    steps = dict.fromkeys(step for one in made[:-1] for step in one.steps)
    inside = [step for step in steps if step not in own and step not in before]
    told = [", ".join(own), f"inside: {', '.join(inside)}" if inside else ""]
    return name, _shape(trace, last.values.shape), "; ".join(filter(None, told))


def _plain(operation: str) -> str:
    return clean(_NAMES.get(operation, operation).lstrip("_"), 24)


def _shape(trace: Trace, shape: tuple[int, ...]) -> str:
    return f"{shown_shape(shape)} {trace.letters(shape)}".rstrip()
