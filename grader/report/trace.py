"""The table of `grade explain`: the lesson's steps beside the student's own run."""

import click

from grader.compare.arrays import shown_shape
from grader.compare.evidence import clean
from grader.report.terminal import wrapped
from grader.trace import INPUT, Step, Trace, name_sizes

_LINES = 40  # tensors of a run that are listed
# what torch calls operations inside, by the names under which they are written
_NAMES = {"_unsafe_view": "reshape", "bmm": "matmul", "mm": "matmul", "addmm": "linear"}


def render_trace(trace: Trace, exercise: str, *, width: int = 80) -> str:
    """Return the steps of one target with their shapes, and then the run tensor by tensor."""
    case = trace.case
    sizes = ", ".join(f"{name}={size}" for name, size in case.dims.items())
    lines = [click.style(f"{exercise} · {trace.target}", bold=True)]
    lines += wrapped(f"case {case.name} ({sizes})", width, first="  ", hang=2)
    if trace.steps:
        lines += ["", *_step_lines(trace, width)]
    if trace.trouble:
        lines += ["", *wrapped(f"{trace.trouble}.", width, first="  Your run ended here: ", hang=4)]
    if any(m.operation != INPUT for m in trace.made):
        lines += ["", "  Your run, tensor by tensor:", *_made_lines(trace, width)]
    return "\n".join(lines) + "\n"


def _step_lines(trace: Trace, width: int) -> list[str]:
    rows = [(s.name, _shape(trace, s.values.shape), _found(s, trace)) for s in trace.steps]
    table = [("step", "expected", "in your run"), *rows]
    name = max(len(row[0]) for row in table)
    shape = max(len(row[1]) for row in table)
    if 2 + name + 2 + shape + 2 + max(len(row[2]) for row in table) > width:
        return [
            _coloured(line) for row in rows for line in (f"  {row[0]}  {row[1]}", f"    {row[2]}")
        ]
    lines = [f"  {row[0]:<{name}}  {row[1]:<{shape}}  {row[2]}" for row in table]
    return [click.style(lines[0], dim=True), *(_coloured(line) for line in lines[1:])]


def _found(step: Step, trace: Trace) -> str:
    if step.found:
        return "✓ the same values"
    if step.here:
        return "✗ this shape, other values"
    return "– not reached" if trace.trouble else "✗ no tensor of this shape"


def _coloured(line: str) -> str:
    for mark, colour in (("✓", "green"), ("✗", "red")):
        line = line.replace(mark, click.style(mark, fg=colour))
    return line


def _made_lines(trace: Trace, width: int) -> list[str]:
    shown = [(_plain(m.operation), _shape(trace, m.values.shape), m.steps) for m in trace.made]
    name = max(len(row[0]) for row in shown[:_LINES])
    shape = max(len(row[1]) for row in shown[:_LINES])
    lines = []
    for operation, size, steps in shown[:_LINES]:
        text = f"{operation:<{name}}  {size:<{shape}}"
        told = ", ".join(steps)
        if told and 4 + len(text) + 2 + len(told) > width:
            lines += [f"    {text.rstrip()}", f"      {told}"]
        else:
            lines.append(f"    {text}  {told}".rstrip())
    more = len(shown) - _LINES
    return [*lines, f"    and {more} more"] if more > 0 else lines


def _plain(operation: str) -> str:
    return clean(_NAMES.get(operation, operation).lstrip("_"), 24)


def _shape(trace: Trace, shape: tuple[int, ...]) -> str:
    letters = name_sizes(shape, trace.case.dims, trace.products)
    return f"{shown_shape(shape)} {letters}".rstrip()
