"""`grade`, one click program.

Exit status: 0 all passed, 1 something failed, 2 wrong usage, 3 the grader's own fault.
"""

import difflib
import io
import os
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

_JOBS = click.option("--jobs", type=click.IntRange(1, 256), help="Processes; else one a core.")
_ISOLATION = click.option(
    "--isolation",
    type=click.Choice(["full", "landlock", "process"]),
    help="The level to isolate submissions at; else the best there is, and not below landlock.",
)

_STUDENTS = ("start", "list", "check", "hint", "explain", "reset", "pack", "doctor")


class _Suggesting(click.Group):
    """Names the nearest command where an unknown one is asked for, and helps where none is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help where there is nothing to parse."""
        if not args:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

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


class _Program(_Suggesting):
    """Lists what students need apart from what instructors do."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write two lists, the students' in the order of their work."""
        rest = [name for name in self.list_commands(ctx) if name not in _STUDENTS]
        for title, names in (("Commands", _STUDENTS), ("For instructors", rest)):
            with formatter.section(title):
                rows = [(name, self.commands[name].get_short_help_str(90)) for name in names]
                formatter.write_dl(rows)


@click.group(cls=_Program, context_settings={"max_content_width": 100})
@click.version_option(__version__, prog_name="grade")
def cli() -> None:
    """Grade exercises on transformer components, and name the mistake.

    \b
    Example:
      grade check exercise3
    """


@cli.command("list")
@_COURSE
def list_exercises(course: Path | None) -> None:
    """List the exercises of the course with their points.

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
@click.option("--html", type=click.Path(path_type=Path), help="Also write a page with pictures.")
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
    from grader.cli.check import Request, run_check

    if watch:
        from grader.cli.watch import run_watch

        if hidden or as_json or html:
            raise click.UsageError("--watch goes with --submission and --course alone")
        sys.exit(run_watch(exercises, course, submission))
    if bool(exercises) == everything:
        raise click.UsageError("name one or more exercises, as in: grade check 3; or give --all")
    request = Request(exercises, submission, course, hidden, as_json, html)
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
    """Test the course's own tests: every bug caught and named, every variant accepted.

    \b
    Example:
      grade audit --html audit.html
    """
    from grader.cli.audit import run_audit_command

    sys.exit(run_audit_command(course, variants, as_json=as_json, html=html))


@cli.command()
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "results",
    type=click.Path(path_type=Path),
    required=True,
    help="The folder to keep results in.",
)
@_COURSE
@click.option("--only", multiple=True, metavar="EXERCISE", help="Grade only this; may be repeated.")
@_JOBS
@click.option("--public", is_flag=True, help="Use the public cases, which students have.")
@_ISOLATION
@click.option("--force", is_flag=True, help="Grade again what is unchanged, too.")
def batch(
    submissions: Path,
    results: Path,
    course: Path | None,
    only: tuple[str, ...],
    jobs: int | None,
    public: bool,
    isolation: str | None,
    force: bool,
) -> None:
    """Grade a class: a folder with one folder, zip, .py file or notebook a student.

    Stopped at any moment and started again, it goes on where it was.

    \b
    Example:
      grade batch submissions -o results
    """
    from grader.cli.batch import run_batch_command

    sys.exit(
        run_batch_command(
            submissions,
            results,
            course,
            only,
            jobs,
            isolation=isolation,
            public=public,
            force=force,
        )
    )


@cli.command()
@click.argument("results", type=click.Path(path_type=Path))
@_COURSE
@click.option("--students", is_flag=True, help="A line a student, in place of the class.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def report(results: Path, course: Path | None, students: bool, as_json: bool) -> None:
    """Show what the results of a class come to.

    \b
    Examples:
      grade report results
      grade report results --students
    """
    from grader.cli.batch import run_report

    sys.exit(run_report(results, course, students=students, as_json=as_json))


@cli.command()
@_COURSE
@click.option("--check", "only_check", is_flag=True, help="Only say whether a file would change.")
def derive(course: Path | None, only_check: bool) -> None:
    """Write the stubs in exercises/ from the solutions (for instructors).

    \b
    Example:
      grade derive --check
    """
    from grader.cli.derive import run_derive

    sys.exit(run_derive(course, only_check=only_check))


@cli.group("nbgrader", cls=_Suggesting)
def nbgrader_group() -> None:
    """Run the course with nbgrader (for instructors).

    \b
    Example:
      grade nbgrader init autumn
    """


@nbgrader_group.command("init")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@_COURSE
@click.option("--assignment", default="", help="The assignment's name; else from the title.")
@click.option("--restore", is_flag=True, help="Write again what you removed, too.")
def nbgrader_init(directory: Path, course: Path | None, assignment: str, restore: bool) -> None:
    """Make DIRECTORY a course directory of nbgrader's, or update it.

    What you changed there is kept; what the course changed too is named.

    \b
    Example:
      grade nbgrader init autumn
    """
    from grader.cli.nbgrader import run_init

    sys.exit(run_init(directory, course, assignment, restore=restore))


@nbgrader_group.command("autograde")
@click.argument("assignment")
@click.option(
    "--directory",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=".",
    help="The folder with nbgrader_config.py; else this one.",
)
@click.option("--student", default="", help="Grade one student's submission.")
@_JOBS
@_ISOLATION
@click.option("--force", is_flag=True, help="Grade again what was graded before.")
@click.option("--public", is_flag=True, help="Use the public cases in place of the hidden ones.")
def nbgrader_autograde(
    assignment: str,
    directory: Path,
    student: str,
    jobs: int | None,
    isolation: str | None,
    force: bool,
    public: bool,
) -> None:
    """Grade a whole class into nbgrader's gradebook, fast and in the sandbox.

    \b
    Example:
      grade nbgrader autograde transformers
    """
    from grader.cli.nbgrader import run_autograde

    sys.exit(
        run_autograde(
            directory, assignment, student, jobs, isolation=isolation, force=force, public=public
        )
    )


@cli.command()
@click.argument("source", type=click.Path(path_type=Path))
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
    help="Which, where a gradebook has several; of RESULTS, its name in the export.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The file to write; for Gradescope a folder.",
)
def export(source: Path, to: str, assignment: str, output: Path) -> None:
    """Write the scores of a class for another system.

    SOURCE is nbgrader's gradebook.db or the folder with it, or the RESULTS of grade batch.

    \b
    Examples:
      grade export results --format moodle -o moodle.csv
      grade export gradebook.db --format canvas -o canvas.csv
    """
    from grader.cli.export import run_export

    sys.exit(run_export(source, assignment, to, output))


_SUBMISSION = click.option(
    "--submission",
    type=click.Path(path_type=Path),
    help="A file, notebook or folder in place of exercises/.",
)


@cli.command()
@click.argument("exercise")
@_SUBMISSION
@_COURSE
def hint(exercise: str, submission: Path | None, course: Path | None) -> None:
    """Give a hint on the first thing that is not right; each time a plainer one.

    \b
    Example:
      grade hint exercise3
    """
    from grader.cli.study import run_hint

    click.echo(run_hint(exercise, course, submission))


@cli.command()
@click.argument("exercise")
@click.option("--target", default="", help="A function or class of it; else the first not right.")
@_SUBMISSION
@_COURSE
def explain(exercise: str, target: str, submission: Path | None, course: Path | None) -> None:
    """Show the shapes of your own run, step by step, beside those expected.

    \b
    Example:
      grade explain exercise3
    """
    from grader.cli.study import run_explain

    click.echo(run_explain(exercise, course, submission, target))


@cli.command()
@click.argument("exercise")
@_COURSE
def reset(exercise: str, course: Path | None) -> None:
    """Begin an exercise anew; what you had is kept in backups/.

    \b
    Example:
      grade reset exercise3
    """
    from grader.cli.study import run_reset

    click.echo(run_reset(exercise, course))


@cli.command()
@_SUBMISSION
@_COURSE
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The zip to write.")
def pack(submission: Path | None, course: Path | None, output: Path | None) -> None:
    """Make the zip to hand in, checked as it will be graded, with a receipt.

    \b
    Example:
      grade pack
    """
    from grader.cli.study import run_pack

    click.echo(run_pack(course, submission, output))


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--notebooks", is_flag=True, help="Exercises as notebooks in place of .py files.")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path, exists=True),
    help="A course's zip or folder, as `grade release` makes it; else the one in grader.",
)
@click.option("--renew", is_flag=True, help="Put course files right; your exercises stay as is.")
def start(folder: Path, notebooks: bool, bundle: Path | None, renew: bool) -> None:
    """Make a course folder of your own to work in.

    \b
    Example:
      grade start my-transformer
    """
    from grader.cli.start import run_start

    click.echo(run_start(folder, bundle, notebooks=notebooks, renew=renew))


@cli.command()
@click.argument("into", type=click.Path(path_type=Path), metavar="DIR|ZIP")
@_COURSE
def release(into: Path, course: Path | None) -> None:
    """Make the bundle that students get (for instructors).

    It has stubs, notebooks, the public course and its answer key, and no solution or known bug.

    \b
    Example:
      grade release transformers.zip
    """
    from grader.cli.start import run_release

    click.echo(run_release(into, course))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def doctor(as_json: bool) -> None:
    """Show how well this machine isolates submissions, and what would make it better.

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
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows ?
        cli(
            prog_name="grade",
            standalone_mode=False,
            color=False if os.environ.get("NO_COLOR") else None,
        )
    except click.exceptions.NoArgsIsHelpError as error:  # a group alone: its help, told once
        click.echo(error.ctx.get_help() if error.ctx else error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and error.ctx is not None:
            click.echo(error.ctx.get_usage(), err=True)
        _fail(_told(error), 2)
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


def _told(error: click.ClickException) -> str:
    """What was wrong with a command line; for something missing, an example beside."""
    if not isinstance(error, click.MissingParameter) or error.ctx is None or error.param is None:
        return error.format_message()
    option = isinstance(error.param, click.Option)
    name = error.param.opts[-1] if option else error.param.make_metavar(error.ctx)
    example = (error.ctx.command.help or "").rstrip().splitlines()[-1].strip()
    return f"{name} is missing, as in: {example}"


def _fail(message: str, status: int) -> None:
    click.echo(f"grade: {message}", err=True)
    sys.exit(status)
