"""Draws that follow given probabilities."""

from math import log
from typing import Literal

import numpy as np
from pydantic import Field

from grader.plan.planner import TargetPlanner
from grader.properties.draws import ALARM, Draws, Runs, are_alike, unlike
from grader.records.calls import Array
from grader.worker.protocol import SAMPLE_MANY

_UNLIKE = "the draws do not follow the probabilities"
_SAME = "equal rows of a batch all get the same"


class Samples(Draws):
    """What is drawn follows given probabilities, with a generator that is given and with torch's.

    Every count of draws is held against its binomial distribution by Chernoff's bound, which
    holds for any number of draws. Right draws fail less than once in 10^9 times, and the same
    code gets the same verdict every time.
    """

    kind: Literal["samples"]
    draws: int = Field(default=4000, gt=0, description="copies of the inputs that are drawn for")

    def plan(self, planner: TargetPlanner) -> None:
        """Add a call with torch's own generator, and one with another, where it takes one."""
        given = {"given": self.generator} if self.generator else {}
        self.add(planner, {"own": "", **given}, self.draws)

    def wrong(self, runs: Runs, due: Runs, chances: Array) -> tuple[str, str]:
        """Say what is wrong with the numbers that were drawn, and the next step."""
        return (
            _misdrawn(runs, due, chances),
            "check two things: the probabilities of each row, and that each number is drawn anew "
            "from them, as torch.multinomial does",
        )


def _misdrawn(runs: Runs, due: Runs, chances: Array) -> str:
    """Say what is wrong with the numbers that were drawn, "" where nothing is."""
    wrong = unlike(runs, due)
    if wrong:
        return wrong
    rows, sizes = len(chances), chances.shape[1:]
    draws = runs[SAMPLE_MANY].reshape(-1, rows, due[SAMPLE_MANY][0].size)[..., -len(sizes) :]
    if ((draws < 0) | (draws >= sizes)).any():
        return "a number is drawn that there is none of"
    alike = are_alike(runs[SAMPLE_MANY], rows)
    for row, expected in enumerate(chances):
        places = np.ravel_multi_index(tuple(draws[:, row].T), sizes)
        counts = np.bincount(places, minlength=expected.size)
        excess = _information(counts, expected.ravel()) - log(2 * chances.size / ALARM)
        worst = int(excess.argmax())
        if excess[worst] > 0:
            numbers = [int(n) for n in np.unravel_index(worst, sizes)]
            what = " then ".join(map(str, numbers))
            about = expected.ravel()[worst] * len(draws)
            shown = f"{about:.0f}" if about >= 1 else f"{about:.1g}"
            due_now = f"about {shown} are due" if about else "it has no chance"
            times = f"{counts[worst]} times in {len(draws)}, where {due_now}"
            return f"{_SAME if alike else _UNLIKE}: {what} came {times}"
    return ""


def _information(counts: Array, chances: Array) -> Array:
    """Return n times the divergence of the shares that came from the due ones.

    By Chernoff's bound a count is as far as this, on either side, with a probability of at most
    exp(-this).
    """
    total = int(counts.sum())
    came, due = np.stack([counts, total - counts]), np.stack([chances, 1 - chances]) * total
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(came > 0, came * np.log(came / np.maximum(due, 0)), 0.0)
    return np.asarray(parts.sum(axis=0))
