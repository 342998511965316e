"""A run of a student's own code: its steps beside those expected, and tensor by tensor."""

from collections.abc import Collection, Sequence
from itertools import groupby

import click

from grader.grading.trace import Made, Step, Trace
from grader.records.results import State
from grader.records.text import clean, ended, shown_shape
from grader.report.layout import columns, width_of, wrapped

_MANY = 4  # lines alike that become one
_LINES = 40  # tensors of a run that are listed
_NOT_TOLD = (
    "Not told is what follows from a wrong step, what is done in another way than expected, and "
    "what is not certain."
)
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
    if any(step.state is State.OPEN for step in trace.steps):
        said = _ENDED if trace.stopped else _NOT_TOLD
        lines += ["", *wrapped(said, width, first="  ", hang=2)]
    if trace.trouble:
        lines += ["", *wrapped(ended(trace.trouble), width, first="  ", hang=4)]
    if any(not m.given for m in trace.made):
        lines += ["", "  Your run, tensor by tensor:", *_made_lines(trace, width)]
    return "\n".join([*lines, *last]).rstrip("\n")


def _step_lines(trace: Trace, width: int) -> list[str]:
    rows = [(s.name, _shape(trace, s.values.shape), _found(s)) for s in trace.steps]
    head, *lines = columns([("step", "expected", "in your run"), *rows], "<<<", indent=2)
    if max(map(width_of, (head, *lines))) > width:
        return [
            _coloured(line)
            for name, shape, found in rows
            for line in (f"  {name}  {shape}", f"    {found}")
        ]
    return [click.style(head, dim=True), *map(_coloured, lines)]


def _found(step: Step) -> str:
    match step.state:
        case State.RIGHT:
            return "✓ the same values"
        case State.WRONG if step.there:
            return "✗ its values appear, but others are used"
        case State.WRONG:
            return "✗ no tensor has its values" if step.held is None else "✗ yours has other values"
        case State.NOT_REACHED:
            return "– not reached"
        case State.OPEN:
            return "– not told"


def _coloured(line: str) -> str:
    for mark, colour in (("✓", "green"), ("✗", "red")):
        line = line.replace(mark, click.style(mark, fg=colour))
    return line


def _made_lines(trace: Trace, width: int) -> list[str]:
    told: set[str] = set()
    every = []
    for call, some in groupby(trace.made, _of_one):
        made = list(some)
        every.append(_row(trace, str(call) if made[0].call else "", made, told))
        told.update(step for one in made for step in one.steps)
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
    trace: Trace, call: str, made: Sequence[Made], before: Collection[str]
) -> tuple[str, str, str]:
    """What one line tells: an operation, or a call and all that was made in it.

    What lines `before` told needs no word again where it only comes up inside.
    """
    last = made[-1]
    name = clean(f"{call.partition(' ')[2]}()", 40) if call else last.written
    name = name or _plain(last.operation)
    steps = dict.fromkeys(step for one in made[:-1] for step in one.steps)
    inside = [step for step in steps if step not in last.steps and step not in before]
    told = [", ".join(last.steps), f"inside: {', '.join(inside)}" if inside else ""]
    return name, _shape(trace, last.values.shape), "; ".join(filter(None, told))


def _plain(operation: str) -> str:
    return clean(_NAMES.get(operation, operation).lstrip("_"), 24)


def _shape(trace: Trace, shape: tuple[int, ...]) -> str:
    return f"{shown_shape(shape)} {trace.letters(shape)}".rstrip()
