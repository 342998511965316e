"""The commands for a class as a whole and for where classes live; each imports what it needs."""

import sys
from pathlib import Path

import click

from grader.cli.groups import COURSE


@click.command()
@click.argument("results", type=click.Path(path_type=Path))
@COURSE
@click.option("--html", type=click.Path(path_type=Path), help="Write a page, side by side.")
@click.option("--most", type=click.IntRange(1, 200), default=20, show_default=True, help="Pairs.")
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="EXERCISE=NAME",
    help="As for grade batch: a file of another name; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def similar(
    results: Path,
    course: Path | None,
    html: Path | None,
    most: int,
    files: tuple[str, ...],
    as_json: bool,
) -> None:
    """List submissions of a class whose code is alike; it accuses nobody.

    Names, layout and comments make no difference, nor does the order of functions. What the stub
    and the reference have counts for nothing, and what much of the class writes for little.

    \b
    Example:
      grade similar results --html alike.html
    """
    from grader.cli.similar import run_similar

    sys.exit(run_similar(results, course, files, most, as_json=as_json, html=html))


COMMANDS = (similar,)
