"""What a student's page shows beside a result: kept as grading leaves it, for it runs code."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from grader.course.models import Exercise
from grader.errors import told_fault
from grader.grading.exercise import Run
from grader.grading.exhibits import Drawing, Exhibit, Panel, exhibits_of
from grader.records.results import Status

_NO_RUN = (Status.TIMEOUT, Status.ERROR)  # what hung once would hang again


@dataclass(frozen=True)
class Shown:
    """What a page shows of one exercise; pictures are of public cases alone."""

    output: str = ""  # the first of what the submission printed
    traps: Mapping[str, str] = field(default_factory=dict)  # by check: how the passage begins
    exhibits: tuple[Exhibit, ...] = ()
    fault: str = ""  # our own, for which there are no pictures

    def pack(self) -> bytes:
        """Return what `parse` reads."""
        return zlib.compress(json.dumps(asdict(self), default=_plain).encode())

    @staticmethod
    def parse(packed: bytes) -> "Shown":
        """Read `pack`'s bytes."""
        plain = json.loads(zlib.decompress(packed))
        return Shown(**{**plain, "exhibits": tuple(map(_exhibit, plain["exhibits"]))})


def shown_of(exercise: Exercise, run: Run) -> Shown:
    """Return what a page shows of a run: pictures of the targets that are not right."""
    checks = run.result.checks
    wrong = {check.target for check in checks if check.status is not Status.PASSED}
    wrong -= {check.target for check in checks if check.status in _NO_RUN}
    traps = {str(check.id): check.trap for check in checks if check.trap}
    try:
        exhibits = exhibits_of(exercise, run, targets=wrong)
        return Shown(run.result.output, traps, exhibits)
    except Exception as error:  # noqa: BLE001 - pictures are an extra: no result hangs on them
        return Shown(run.result.output, traps, fault=told_fault(error))


def _plain(value: object) -> object:
    """Return what JSON knows: arrays with the four digits that a picture tells."""
    if isinstance(value, np.ndarray):
        return [[float(f"{number:.4g}") for number in row] for row in value.tolist()]
    assert isinstance(value, frozenset)  # noqa: S101 - no record here holds anything else
    return sorted(value)


def _exhibit(plain: Mapping[str, Any]) -> Exhibit:
    drawing = plain["drawing"] and Drawing(
        tuple(plain["drawing"]["inputs"]),
        tuple(map(tuple, plain["drawing"]["levels"])),
        frozenset(plain["drawing"]["right"]),
        _several(plain["drawing"]["wrong"]),
    )
    return Exhibit(plain["target"], plain["case"], tuple(map(_panel, plain["panels"])), drawing)


def _several(names: str | list[str]) -> tuple[str, ...]:
    """Return names as they are kept; older results hold one at most."""
    return tuple(filter(None, [names])) if isinstance(names, str) else tuple(names)


def _panel(plain: Mapping[str, Any]) -> Panel:
    shape, actual = plain["actual_shape"], plain["actual"]
    return Panel(
        plain["title"],
        np.array(plain["expected"], ndmin=2),
        None if actual is None else np.array(actual, ndmin=2),
        tuple(plain["expected_shape"]),
        None if shape is None else tuple(shape),
        plain["slice"],
        plain.get("reached", True),  # older results do not tell it
    )
