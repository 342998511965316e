"""`grade doctor --scheduler`: what each worker of a cluster is, and whether it can grade."""

import json
from dataclasses import asdict, dataclass
from typing import Any

import click

from grader.cluster.connect import Asked, ask, call, connected
from grader.cluster.worker import try_one, versions
from grader.report.layout import columns


@dataclass(frozen=True)
class Found:
    """A worker, and how long a trial submission took there."""

    asked: Asked
    start: float = 0.0  # seconds until its first submission is graded
    submission: float = 0.0  # seconds for the next one
    problem: str = ""  # why it cannot grade


def run_cluster_doctor(scheduler: str, *, as_json: bool) -> int:
    """Ask and try each worker; returns 1 where one cannot grade, or there is none."""
    with connected(scheduler) as client:
        asked = ask(client, list(client.nthreads()), None)
        fit = {one.address: one for one in asked if not one.refused}
        tried: dict[str, Any] = {}
        for level in {one.level for one in fit.values()}:
            tried |= call(client, [a for a in fit if fit[a].level == level], try_one, level)
    found = [_found(one, tried.get(one.address)) for one in asked]
    click.echo(_to_json(found) if as_json else as_text(found))
    return int(not found or any(one.problem for one in found))


def _found(one: Asked, tried: Any) -> Found:
    if not isinstance(tried, dict):
        return Found(one, problem=one.refused or f"a trial failed ({type(tried).__name__})")
    return Found(one, tried["start"], tried["submission"])


def as_text(found: list[Found]) -> str:
    """Return a table of the workers, for a terminal."""
    own = ", ".join(f"{name} {version}" for name, version in versions().items())
    if not found:
        return f"The scheduler has no workers. Here: {own}."
    titles = ("worker", "host", "cores", "level", "first", "next", "")
    rows = [titles]
    for one in found:
        asked = one.asked
        first, following = ("", "")
        if not one.problem:
            first, following = f"{one.start:.1f} s", f"{1000 * one.submission:.0f} ms"
        told = one.problem or "can grade"
        cells = (asked.host, str(asked.cores or ""), asked.level, first, following, told)
        rows.append((asked.address, *cells))
    able = sum(not one.problem for one in found)
    return "\n".join(
        [
            f"{able} of {len(found)} workers can grade. All have to have what is here: {own}.",
            "",
            *columns(rows, "<<><>><", indent=2),
        ]
    )


def _to_json(found: list[Found]) -> str:
    workers = [
        {
            **asdict(one.asked),
            "parts": sorted(one.asked.parts),
            "refused": one.problem,
            "start_seconds": round(one.start, 3),
            "submission_seconds": round(one.submission, 3),
        }
        for one in found
    ]
    return json.dumps({"format_version": 1, "versions": versions(), "workers": workers}, indent=2)
