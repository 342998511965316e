"""The commands of instructors; each imports what it needs when it runs."""

import sys
from functools import partial
from pathlib import Path

import click

from grader.cli.shared import (
    AS_JSON,
    COURSE,
    FILE,
    FOLDER,
    ISOLATION,
    JOBS,
    MEMORY,
    PART,
    PATH,
    SCHEDULER,
    Suggesting,
)


@click.command()
@COURSE
@click.option(
    "--variants",
    type=FOLDER,
    help="Correct submissions, a folder an exercise; else tests/variants beside the course.",
)
@AS_JSON
@click.option("--html", type=PATH, help="Write a picture, bugs by checks.")
@click.option("--all-pairs", is_flag=True, help="Try all pairs of bugs, and not one of four.")
@click.option(
    "--compose",
    type=click.IntRange(1),
    metavar="N",
    help="Judge the reports on N random submissions, and nothing else.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="With --compose: which ones.")
@JOBS
def audit(
    course: Path | None,
    variants: Path | None,
    as_json: bool,
    html: Path | None,
    all_pairs: bool,
    compose: int | None,
    seed: int,
    jobs: int | None,
) -> None:
    """Test the course's own tests: every bug caught and named, every variant accepted.

    \b
    Example:
      grade audit --html audit.html
      grade audit --compose 200
    """
    from grader.cli.course import run_audit_command, run_compose_command

    if compose is not None:
        sys.exit(run_compose_command(course, compose, seed, jobs, as_json=as_json))
    sys.exit(run_audit_command(course, variants, all_pairs=all_pairs, as_json=as_json, html=html))


@click.command()
@click.argument("submissions", type=PATH)
@click.option(
    "-o", "--output", "results", type=PATH, required=True, help="The folder to keep results in."
)
@COURSE
@click.option("--only", multiple=True, metavar="EXERCISE", help="Grade only this; may be repeated.")
@PART
@JOBS
@click.option(
    "--roster",
    type=FILE,
    help="Who is in the class: CSV with any of id, name, email, login and group.",
)
@click.option("--merge", is_flag=True, help="Add another folder's submissions, or its results.")
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="EXERCISE=NAME",
    help="Take a file of this name, too; may be repeated.",
)
@click.option("--public", is_flag=True, help="Use the public cases, which students have.")
@ISOLATION
@click.option("--force", is_flag=True, help="Grade again what is unchanged, too.")
@click.option("--skip-slow", is_flag=True, help="Train nothing yet; a later run completes it.")
@MEMORY
@SCHEDULER
@click.option("--wait", is_flag=True, help="With --scheduler: wait for workers to come.")
def batch(
    submissions: Path,
    results: Path,
    course: Path | None,
    only: tuple[str, ...],
    part: str,
    jobs: int | None,
    roster: Path | None,
    merge: bool,
    files: tuple[str, ...],
    public: bool,
    isolation: str | None,
    force: bool,
    skip_slow: bool,
    memory: int | None,
    scheduler: str | None,
    wait: bool,
) -> None:
    """Grade a class: a folder with one folder, zip, .py file or notebook a student.

    Unzipped downloads of Moodle, Canvas and Gradescope and clones of GitHub Classroom are such
    folders. Stopped at any moment and started again, it goes on where it was.

    \b
    Examples:
      grade batch submissions -o results --roster class.csv
      grade batch more-submissions -o results --merge
      grade batch submissions -o results --scheduler tcp://10.0.0.1:8786
    """
    from grader.cli.batch import ClassFiles, ClusterChoice, run_batch_command

    run = partial(run_batch_command, part=part, isolation=isolation, public=public, force=force)
    run = partial(run, trains=not skip_slow)
    given = ClassFiles(submissions, results, roster, files, merge)
    cluster = ClusterChoice(scheduler, wait)
    sys.exit(run(given, course, only, jobs, memory=memory, cluster=cluster))


@click.command()
@click.argument("results", type=PATH)
@COURSE
@PART
@click.option("--students", is_flag=True, help="A line a student, in place of the class.")
@click.option(
    "--html",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write a page for the class, one for each student, and zips for Moodle and Canvas.",
)
@AS_JSON
def report(
    results: Path, course: Path | None, part: str, students: bool, html: Path | None, as_json: bool
) -> None:
    """Show what the results of a class come to.

    \b
    Examples:
      grade report results --students
      grade report results --html pages
    """
    from grader.cli.batch import run_report

    sys.exit(run_report(results, course, part, students=students, as_json=as_json, html=html))


@click.command()
@COURSE
@click.option("--check", "only_check", is_flag=True, help="Only say whether a file would change.")
def derive(course: Path | None, only_check: bool) -> None:
    """Write the stubs in exercises/ from the solutions (for instructors).

    \b
    Example:
      grade derive --check
    """
    from grader.cli.course import run_derive

    sys.exit(run_derive(course, only_check=only_check))


@click.group("nbgrader", cls=Suggesting)
def nbgrader_group() -> None:
    """Run the course with nbgrader (for instructors).

    \b
    Example:
      grade nbgrader init autumn
    """


@nbgrader_group.command("init")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@COURSE
@PART
@click.option("--assignment", default="", help="The assignment's name; else from the title.")
@click.option("--restore", is_flag=True, help="Write again what you removed, too.")
def nbgrader_init(
    directory: Path, course: Path | None, part: str, assignment: str, restore: bool
) -> None:
    """Make DIRECTORY a course directory of nbgrader's, or update it.

    What you changed there is kept; what the course changed too is named.

    \b
    Example:
      grade nbgrader init autumn
    """
    from grader.cli.platforms import run_init

    sys.exit(run_init(directory, course, assignment, part=part, restore=restore))


@nbgrader_group.command("autograde")
@click.argument("assignment")
@click.option(
    "--directory",
    type=FOLDER,
    default=".",
    help="The folder with nbgrader_config.py; else this one.",
)
@click.option("--student", default="", help="Grade one student's submission.")
@JOBS
@MEMORY
@ISOLATION
@click.option("--force", is_flag=True, help="Grade again what was graded before.")
@click.option("--public", is_flag=True, help="Use the public cases in place of the hidden ones.")
def nbgrader_autograde(
    assignment: str,
    directory: Path,
    student: str,
    jobs: int | None,
    memory: int | None,
    isolation: str | None,
    force: bool,
    public: bool,
) -> None:
    """Grade a whole class into nbgrader's gradebook, fast and in the sandbox.

    \b
    Example:
      grade nbgrader autograde transformers
    """
    from grader.cli.platforms import run_autograde

    run = partial(run_autograde, isolation=isolation, force=force, public=public)
    sys.exit(run(directory, assignment, student, jobs, memory=memory))


@click.command()
@click.argument("source", type=PATH)
@click.option(
    "--format",
    "to",
    type=click.Choice(["csv", "canvas", "moodle", "gradescope"]),
    default="csv",
    help="Where the scores go.",
)
@click.option(
    "--assignment",
    default="",
    help="Which, where a gradebook has several; of RESULTS, its name on the platform.",
)
@PART
@click.option(
    "--template",
    type=FILE,
    help="Canvas's gradebook or Moodle's grading worksheet, as downloaded, to be filled.",
)
@click.option(
    "-o", "--output", type=PATH, required=True, help="The file to write; for Gradescope a folder."
)
def export(
    source: Path, to: str, assignment: str, part: str, template: Path | None, output: Path
) -> None:
    """Write the scores of a class for another system, one line a person.

    SOURCE is nbgrader's gradebook.db or the folder with it, or the RESULTS of grade batch.

    \b
    Examples:
      grade export results --format moodle --template worksheet.csv -o moodle.csv
      grade export gradebook.db --format canvas -o canvas.csv
    """
    from grader.cli.platforms import ExportRequest, run_export

    sys.exit(run_export(ExportRequest(source, assignment, to, output, template, part)))


@click.command()
@click.argument("into", type=PATH, metavar="DIR|ZIP")
@COURSE
@PART
@click.option(
    "--with-solutions",
    "solutions",
    is_flag=True,
    help="Add the solutions, for `grade compare` after the deadline.",
)
def release(into: Path, course: Path | None, part: str, solutions: bool) -> None:
    """Make the bundle that students get (for instructors).

    It has stubs, notebooks, the public course and its answer key, and no solution or known bug.
    A part comes with those before it, which its exercises build on.

    \b
    Examples:
      grade release transformers.zip
      grade release transformers-solved.zip --with-solutions
    """
    from grader.cli.course import run_release

    click.echo(run_release(into, course, part, solutions=solutions))


COMMANDS = (audit, batch, report, derive, nbgrader_group, export, release)
