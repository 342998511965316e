"""`grade`, one click program.

Exit status: 0 all passed, 1 something failed, 2 wrong usage, 3 the grader's own fault.
"""

import io
import os
import sys

import click

from grader.cli import classes, instructors, students
from grader.cli.shared import Program, screen_width
from grader.errors import GraderError, told_fault
from grader.report.layout import wrapped
from grader.version import VERSION


@click.group(cls=Program, context_settings={"max_content_width": 100})
@click.version_option(VERSION, prog_name="grade")
def cli() -> None:
    """Grade exercises on transformer components, and name the mistake.

    \b
    Example:
      grade check exercise3
    """


cli.students = tuple(str(command.name) for command in students.COMMANDS)
for _command in (*students.COMMANDS, *instructors.COMMANDS, *classes.COMMANDS):
    cli.add_command(_command)


def main() -> None:
    """Run the program; every error is one line on standard error."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows ?
        cli(prog_name="grade", standalone_mode=False, color=_coloured())
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
        _fail(f"a fault of grader's own, please report it: {told_fault(error)}", 3)


def _coloured() -> bool | None:
    """Whether the environment asks for colours; None leaves it to what the output goes to."""
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def _told(error: click.ClickException) -> str:
    """What was wrong with a command line; for something missing, an example beside."""
    if not isinstance(error, click.MissingParameter) or error.ctx is None or error.param is None:
        return error.format_message()
    option = isinstance(error.param, click.Option)
    name = error.param.opts[-1] if option else error.param.make_metavar(error.ctx)
    example = (error.ctx.command.help or "").rstrip().splitlines()[-1].strip()
    return f"{name} is missing, as in: {example}"


def _fail(message: str, status: int) -> None:
    told = f"grade: {message}"
    if sys.stderr.isatty():  # which would break words; a log has one line
        told = "\n".join(wrapped(told, screen_width()))
    click.echo(told, err=True)
    sys.exit(status)
