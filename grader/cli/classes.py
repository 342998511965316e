"""The commands for a class as a whole and for where classes live; each imports what it needs."""

import sys
from pathlib import Path

import click

from grader.cli.shared import AS_JSON, COURSE, FOLDER, ISOLATION, PART, PATH, Suggesting


@click.command()
@click.argument("results", type=PATH)
@COURSE
@click.option("--html", type=PATH, help="Write a page, side by side.")
@click.option("--most", type=click.IntRange(1, 200), default=20, show_default=True, help="Pairs.")
@AS_JSON
def similar(
    results: Path, course: Path | None, html: Path | None, most: int, as_json: bool
) -> None:
    """List submissions of a class whose code is alike; it accuses nobody.

    Names, layout and comments make no difference, nor does the order of functions. What the stub
    and the reference have counts for nothing, and what much of the class writes for little.

    \b
    Example:
      grade similar results --html alike.html
    """
    from grader.cli.batch import run_similar

    sys.exit(run_similar(results, course, most, as_json=as_json, html=html))


@click.group("gradescope", cls=Suggesting)
def gradescope_group() -> None:
    """Grade on Gradescope (for instructors).

    \b
    Example:
      grade gradescope build autograder.zip
    """


@gradescope_group.command("build")
@click.argument("into", type=PATH, metavar="ZIP")
@COURSE
@PART
@click.option(
    "--visibility",
    type=click.Choice(["visible", "after_due_date", "after_published", "hidden"]),
    default="visible",
    show_default=True,
    help="When students see their tests and points.",
)
@ISOLATION
@click.option(
    "--torch-index",
    default="",
    metavar="URL",
    help="Where pip finds torch for CPUs: PyTorch's page «Get started» names it.",
)
def gradescope_build(
    into: Path,
    course: Path | None,
    part: str,
    visibility: str,
    isolation: str | None,
    torch_index: str,
) -> None:
    """Make the zip that Gradescope builds an autograder from.

    It has grader, the course without solutions, and the hidden cases.

    \b
    Example:
      grade gradescope build autograder.zip
    """
    from grader.cli.platforms import run_build

    click.echo(run_build(into, course, part, visibility, isolation, torch_index))


@gradescope_group.command("run")
@click.argument("root", type=FOLDER)
def gradescope_run(root: Path) -> None:
    """Grade the submission below ROOT as an autograder does (the zip runs this).

    ROOT has the zip's content in source/ and the submission in submission/, and gets
    results/results.json.

    \b
    Example:
      grade gradescope run /autograder
    """
    from grader.cli.platforms import run_submission

    sys.exit(run_submission(root))


COMMANDS = (similar, gradescope_group)
