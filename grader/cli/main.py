"""`grade`, one click program.

Exit status: 0 all passed, 1 something failed, 2 wrong usage, 3 the grader's own fault.
"""

import difflib
import sys
import traceback
from pathlib import Path

import click

from grader import __version__
from grader.errors import GraderError

_COURSE = click.option(
    "--course",
    type=click.Path(path_type=Path),
    help="The course's folder; else the nearest folder with a course.yml, from here upwards.",
)


class _Suggesting(click.Group):
    """Names the nearest command where an unknown one is asked for."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; raises UsageError with close matches."""
        name = args[0]
        if self.get_command(ctx, name) is None:
            near = difflib.get_close_matches(name, self.list_commands(ctx), 3, cutoff=0.5)
            hint = f"; did you mean {' or '.join(near)}?" if near else "; see grade --help"
            raise click.UsageError(f"no command '{name}'{hint}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Suggesting, context_settings={"max_content_width": 100})
@click.version_option(__version__, prog_name="grade")
def cli() -> None:
    r"""Grade exercises on transformer components, and name the mistake.

    \b
    Example:
      grade check exercise3
    """


@cli.command("list")
@_COURSE
def list_exercises(course: Path | None) -> None:
    r"""List the exercises of the course with their points.

    \b
    Example:
      grade list
    """
    from grader.cli.check import list_course

    click.echo(list_course(course))


@cli.command()
@click.argument("exercises", nargs=-1, metavar="EXERCISE...")
@click.option("--all", "everything", is_flag=True, help="Check every exercise of the course.")
@click.option(
    "--submission",
    type=click.Path(path_type=Path),
    help="A file, notebook or folder that is graded in place of exercises/.",
)
@_COURSE
@click.option("--hidden", is_flag=True, help="Use the hidden cases (for instructors).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def check(
    exercises: tuple[str, ...],
    everything: bool,
    submission: Path | None,
    course: Path | None,
    hidden: bool,
    as_json: bool,
) -> None:
    r"""Grade your own work and say what is right, what is not, and what to do next.

    EXERCISE is an identifier, a number or a name: exercise3, 3 or multi_head.

    \b
    Examples:
      grade check exercise3
      grade check --all
      grade check 3 --submission ~/Downloads/exercise3_multi_head.ipynb
    """
    from grader.cli.check import Request, run_check

    if bool(exercises) == everything:
        raise click.UsageError("name one or more exercises, or give --all")
    request = Request(exercises, submission, course, hidden, as_json)
    sys.exit(run_check(request))


@cli.command()
@_COURSE
@click.option(
    "--variants",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Correct submissions, a folder an exercise; else tests/variants beside the course.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a picture, bugs by checks.")
def audit(course: Path | None, variants: Path | None, as_json: bool, html: Path | None) -> None:
    r"""Test the course's own tests: every bug caught and named, every variant accepted.

    \b
    Example:
      grade audit --html audit.html
    """
    from grader.cli.audit import run_audit_command

    sys.exit(run_audit_command(course, variants, as_json=as_json, html=html))


@cli.command()
@_COURSE
@click.option("--check", "only_check", is_flag=True, help="Only say whether a file would change.")
def derive(course: Path | None, only_check: bool) -> None:
    r"""Write the stubs in exercises/ from the solutions (for instructors).

    \b
    Example:
      grade derive --check
    """
    from grader.cli.derive import run_derive

    sys.exit(run_derive(course, only_check=only_check))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def doctor(as_json: bool) -> None:
    r"""Show how well this machine isolates submissions, and what would make it better.

    Each wall is tried for real, by a submission that attempts what it must not.

    \b
    Example:
      grade doctor
    """
    from grader.cli.doctor import run_doctor

    sys.exit(run_doctor(as_json=as_json))


def main() -> None:
    """Run the program; every error is one line on standard error."""
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(error.ctx.get_usage(), err=True)
        _fail(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        _fail("stopped", 1)
    except GraderError as error:
        _fail(str(error), error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - the last resort: our own fault, told in one line
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        _fail(f"a fault of grader's own, please report it: {error!r} at {place}", 3)


def _fail(message: str, status: int) -> None:
    click.echo(f"grade: {message}", err=True)
    sys.exit(status)
