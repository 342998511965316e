"""The commands of students; each imports what it needs when it runs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.shared import AS_JSON, COURSE, PART, PATH, SCHEDULER, SUBMISSION

if TYPE_CHECKING:
    from grader.cli.shared import CheckRequest


@click.command("list")
@COURSE
@PART
def list_exercises(course: Path | None, part: str) -> None:
    """List the exercises of the course with their points.

    \b
    Example:
      grade list
    """
    from grader.cli.check import list_course

    click.echo(list_course(course, part))


_WORDS = """\
Points are earned for shapes, values (numeric), gradients, properties that any right answer has, and
for not being one of the known mistakes (bug). A part of them belongs to an option or an edge, as in
numeric/bias: a few hundredths are what such a part earned.

Words of a report. Case: one set of sizes, arguments and numbers; `main` is the usual one. To
1e-12: but for rounding, with differences below 0.000000000001. Deviation: not as asked for,
whatever the values are. Trained: each parameter gets a gradient. Equivariant: the input in another
order gives the output in that order. Contiguous: the numbers lie in memory in the order of the
axes, as they do not after a transpose."""


@click.command(epilog=_WORDS)
@click.argument("exercises", nargs=-1, metavar="EXERCISE...")
@click.option("--all", "everything", is_flag=True, help="Check every exercise of the course.")
@click.option(
    "--submission",
    type=PATH,
    help="A file, notebook or folder that is graded in place of exercises/.",
)
@COURSE
@click.option("--hidden", is_flag=True, help="Use the hidden cases (for instructors).")
@AS_JSON
@click.option("--html", type=PATH, help="Also write a page with pictures.")
@click.option("--watch", is_flag=True, help="Check again on each save, one exercise after another.")
def check(
    exercises: tuple[str, ...],
    everything: bool,
    submission: Path | None,
    course: Path | None,
    hidden: bool,
    as_json: bool,
    html: Path | None,
    watch: bool,
) -> None:
    """Grade your own work and say what is right, what is not, and what to do next.

    EXERCISE is an identifier, a number, a name or its file: exercise3, 3 or multi_head.

    \b
    Examples:
      grade check exercise3
      grade check --all
      grade check exercise3 --watch
      grade check 3 --submission ~/Downloads/exercise3_multi_head.ipynb
    """
    from grader.cli.check import run_check
    from grader.cli.shared import CheckRequest

    request = CheckRequest(exercises, submission, course, hidden, as_json, html=html)
    if watch:
        sys.exit(_watch(request))
    if bool(exercises) == everything:
        raise click.UsageError("name one or more exercises, as in: grade check 3; or give --all")
    sys.exit(run_check(request))


def _watch(request: "CheckRequest") -> int:
    from grader.cli.study import run_watch

    if request.hidden or request.as_json or request.html:
        raise click.UsageError("--watch goes with --submission and --course alone")
    return run_watch(request.exercises, request.course, request.submission)


@click.command()
@click.argument("exercise")
@click.option("--html", type=PATH, help="Write the page there, and do not open it.")
@COURSE
def read(exercise: str, html: Path | None, course: Path | None) -> None:
    """Open the lesson of an exercise as a page, with formulas and drawings; it needs no network.

    \b
    Examples:
      grade read exercise3
      grade read exercise3 --html lesson.html
    """
    from grader.cli.study import run_read

    click.echo(run_read(exercise, course, html))


@click.command()
@click.argument("exercises", nargs=-1, metavar="[EXERCISE...]")
@SUBMISSION
@COURSE
@click.option("--html", type=PATH, help="Draw the curves on a page, too.")
def train(
    exercises: tuple[str, ...], submission: Path | None, course: Path | None, html: Path | None
) -> None:
    """Train the models that you built, and grade what they have learnt.

    Without EXERCISE it is all that can be trained.

    \b
    Examples:
      grade train exercise12
      grade train exercise12 --html curves.html
    """
    from grader.cli.check import run_check
    from grader.cli.shared import CheckRequest

    asked = CheckRequest(exercises, submission, course, False, False, html, trains=True)
    sys.exit(run_check(asked))


@click.command("try")
@click.argument("exercise")
@click.argument("question", type=int, required=False)
@click.option("--guess", type=int, metavar="NUMBER", help="Your guess; without it you are asked.")
@SUBMISSION
@COURSE
def try_(
    exercise: str,
    question: int | None,
    guess: int | None,
    submission: Path | None,
    course: Path | None,
) -> None:
    """Guess what comes out, then run some lines on your own code and see.

    QUESTION is a number; without it you get all questions of the exercise, one after the other.
    There are no points for it. Where nobody can be asked, as in a pipe, --guess gives the guess.

    \b
    Examples:
      grade try exercise1
      grade try exercise1 2 --guess 3
    """
    from grader.cli.tries import TryRequest, run_try

    run_try(TryRequest(exercise, question, guess, course, submission))


@click.command()
@click.argument("exercise")
@click.argument("target", default="")
@click.option("--all", "every", is_flag=True, help="Give all of them, the plainest last.")
@SUBMISSION
@COURSE
def hint(
    exercise: str, target: str, submission: Path | None, course: Path | None, *, every: bool
) -> None:
    """Give a hint on what to mend first; each time a plainer one.

    TARGET is a function or class of the exercise; else it is the one to mend first.
    In a folder with the solutions nothing is kept from one time to the next: --all gives them all.

    \b
    Examples:
      grade hint exercise3
      grade hint exercise3 fold_heads
    """
    from grader.cli.study import run_hint

    click.echo(run_hint(exercise, course, submission, target, every=every))


@click.command()
@click.argument("exercise")
@click.argument("target", default="")
@SUBMISSION
@COURSE
def explain(exercise: str, target: str, submission: Path | None, course: Path | None) -> None:
    """Show the shapes of your own run, step by step, beside the expected ones.

    TARGET is a function or class of the exercise; else it is the one to mend first.

    \b
    Examples:
      grade explain exercise3
      grade explain exercise3 fold_heads
    """
    from grader.cli.study import run_explain

    click.echo(run_explain(exercise, course, submission, target))


@click.command()
@click.argument("exercise")
@SUBMISSION
@COURSE
def compare(exercise: str, submission: Path | None, course: Path | None) -> None:
    """Show the solution beside your own code, once your instructor has released it.

    \b
    Example:
      grade compare exercise3
    """
    from grader.cli.study import run_compare

    click.echo(run_compare(exercise, course, submission))


@click.command()
@click.argument("exercise")
@COURSE
def reset(exercise: str, course: Path | None) -> None:
    """Start an exercise again; what you had is kept in backups/.

    \b
    Example:
      grade reset exercise3
    """
    from grader.cli.study import run_reset

    click.echo(run_reset(exercise, course))


@click.command()
@SUBMISSION
@COURSE
@PART
@click.option("-o", "--output", type=PATH, help="The zip to write.")
def pack(submission: Path | None, course: Path | None, part: str, output: Path | None) -> None:
    """Make the zip to hand in, checked as it will be graded, with a receipt.

    \b
    Example:
      grade pack
    """
    from grader.cli.study import run_pack

    click.echo(run_pack(course, submission, output, part))


@click.command()
@click.argument("folder", type=PATH)
@click.option("--notebooks", is_flag=True, help="Exercises as notebooks in place of .py files.")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, exists=True),
    help="A course's zip or folder, as `grade release` makes it; else the one in grader.",
)
@click.option(
    "--renew", is_flag=True, help="Repair the course files; your exercises stay as they are."
)
def start(folder: Path, notebooks: bool, bundle: Path | None, renew: bool) -> None:
    """Make a course folder of your own to work in.

    \b
    Example:
      grade start my-transformer
    """
    from grader.cli.study import run_start

    click.echo(run_start(folder, bundle, notebooks=notebooks, renew=renew))


@click.command()
@AS_JSON
@SCHEDULER
def doctor(as_json: bool, scheduler: str | None) -> None:
    """Show how well this machine isolates submissions, and what would make it better.

    Each wall is tried for real, by a submission that attempts what it must not. With --scheduler,
    ask each worker of a cluster what it is, and try a submission there.

    \b
    Example:
      grade doctor
      grade doctor --scheduler tcp://10.0.0.1:8786
    """
    if scheduler is not None:
        from grader.cli.cluster import run_cluster_doctor

        sys.exit(run_cluster_doctor(scheduler, as_json=as_json))
    from grader.cli.doctor import run_doctor

    sys.exit(run_doctor(as_json=as_json))


COMMANDS = (
    start,
    list_exercises,
    read,
    check,
    try_,
    train,
    hint,
    explain,
    compare,
    reset,
    pack,
    doctor,
)  # in the order of their work
