"""The table of `grade explain`: the lesson's steps beside the student's own run."""

import click

from grader.compare.arrays import shown_shape
from grader.compare.evidence import clean
from grader.report.terminal import wrapped
from grader.trace import Step, Trace, name_sizes

_LINES = 40  # tensors of a run that are listed


def render_trace(trace: Trace, exercise: str, *, width: int = 80) -> str:
    """Return the steps of one target with their shapes, and then the run tensor by tensor."""
    case = trace.case
    sizes = ", ".join(f"{name}={size}" for name, size in case.dims.items())
    lines = [click.style(f"{exercise} · {trace.target}", bold=True)]
    lines += wrapped(f"case {case.name} ({sizes})", width, first="  ", hang=2)
    if trace.steps:
        lines += ["", *_step_lines(trace)]
    if trace.trouble:
        lines += ["", *wrapped(f"{trace.trouble}.", width, first="  Your run stopped: ", hang=4)]
    if trace.made:
        lines += ["", "  Your run, tensor by tensor:", *_made_lines(trace)]
    return "\n".join(lines) + "\n"


def _step_lines(trace: Trace) -> list[str]:
    rows = [(step.name, _shape(trace, step.values.shape), _found(step)) for step in trace.steps]
    table = [("step", "expected", "in your run"), *rows]
    name = max(len(row[0]) for row in table)
    shape = max(len(row[1]) for row in table)
    lines = [f"  {row[0]:<{name}}  {row[1]:<{shape}}  {row[2]}" for row in table]
    return [click.style(lines[0], dim=True), *(_coloured(line) for line in lines[1:])]


def _found(step: Step) -> str:
    if step.found:
        return "✓ the same values"
    return "✗ this shape, other values" if step.here else "✗ no tensor of this shape"


def _coloured(line: str) -> str:
    for mark, colour in (("✓", "green"), ("✗", "red")):
        line = line.replace(mark, click.style(mark, fg=colour))
    return line


def _made_lines(trace: Trace) -> list[str]:
    shown = [(_plain(m.operation), _shape(trace, m.values.shape), m.steps) for m in trace.made]
    name = max(len(row[0]) for row in shown[:_LINES])
    shape = max(len(row[1]) for row in shown[:_LINES])
    lines = [
        f"    {row[0]:<{name}}  {row[1]:<{shape}}  {', '.join(row[2])}".rstrip()
        for row in shown[:_LINES]
    ]
    more = len(shown) - _LINES
    return [*lines, f"    and {more} more"] if more > 0 else lines


def _plain(operation: str) -> str:
    return clean(operation.replace("_unsafe_view", "reshape").lstrip("_"), 24)


def _shape(trace: Trace, shape: tuple[int, ...]) -> str:
    letters = name_sizes(shape, trace.case.dims, trace.products)
    return f"{shown_shape(shape)} {letters}".rstrip()
