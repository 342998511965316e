"""What trainings came to, as a terminal shows it."""

from collections.abc import Sequence

from grader.grading.learnt import Learnt
from grader.records.text import ended
from grader.report.layout import wrapped


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
