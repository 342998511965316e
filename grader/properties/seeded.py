"""Draws that come of the generator that is meant."""

from math import log
from typing import ClassVar, Literal

import numpy as np

from grader.plan.planner import TargetPlanner
from grader.properties.draws import ALARM, Draws, Runs, are_alike, unlike
from grader.records.calls import Array
from grader.worker.protocol import SAMPLE_FEW, SAMPLE_MANY


class Seeded(Draws):
    """What is drawn comes of the generator that is given, or of torch's own where none is.

    Runs with the same and with other sources are compared, one of them with the same seed in
    another state. It is passed where they could be the same by chance.
    """

    by_values: ClassVar[bool] = False  # what draws does not depend on the probabilities

    kind: Literal["seeded"]

    def plan(self, planner: TargetPlanner) -> None:
        """Add one call, whose few copies are drawn with several seeds."""
        self.add(planner, {"": self.generator}, copies=1)

    def wrong(self, runs: Runs, due: Runs, chances: Array) -> tuple[str, str]:
        """Say what is wrong with the numbers that were drawn, and the next step."""
        step = (
            f"hand `{self.generator}` on to torch.multinomial, and seed nothing yourself"
            if self.generator
            else "draw with torch.multinomial, and seed nothing yourself"
        )
        few = {run: drawn for run, drawn in due.items() if run != SAMPLE_MANY}
        if not _differs(chances):
            return "", step
        if wrong := unlike(runs, few):
            return wrong, step
        return "" if self.is_hidden(runs, chances) else _misled(runs, self.generator), step

    def is_hidden(self, runs: Runs, chances: Array) -> bool:
        """One draw for all rows may be the same again by chance."""
        return _differs(chances) and all(are_alike(run, len(chances)) for run in runs.values())


def _differs(chances: Array) -> bool:
    """Whether two runs of a few copies are as good as never the same by chance."""
    same = np.square(chances.reshape(len(chances), -1)).sum(axis=1)
    return bool(SAMPLE_FEW * np.log(same).sum() < log(ALARM))


def _misled(runs: Runs, generator: str) -> str:
    """Say where draws do not come of the source that they should, "" where they do."""
    first, own, given = (runs[run] for run in ("few", "own-moved", "given-moved"))
    if generator and not np.array_equal(first, own):
        said = "one with the same seed gives other draws the next time"
        return f"`{generator}` is not what draws: {said}"
    if generator and np.array_equal(first, given):
        return f"`{generator}` gives the same draws whatever it has drawn before"
    if not generator and np.array_equal(first, own):
        return "the draws are always the same, whatever torch's seed is"
    return ""
