"""What the commands share: options, groups that help along, and the bar that long work shows.

Light, for it is imported before torch loads.
"""

import difflib
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from grader.records.text import counted, printable

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)

COURSE = click.option(
    "--course",
    type=PATH,
    help="The course's folder; else the nearest folder with a course.yml, from here upwards.",
)

PART = click.option(
    "--part", default="", metavar="NAME", help="One part of the course; else all of them."
)

JOBS = click.option("--jobs", type=click.IntRange(1, 256), help="Processes; else one a core.")
MEMORY = click.option(
    "--memory",
    type=click.IntRange(min=1),
    metavar="MIB",
    help="What all submissions together may take; else nine tenths of what is free.",
)
SCHEDULER = click.option(
    "--scheduler",
    metavar="WHERE",
    help="A Dask cluster: tcp://HOST:8786, a scheduler file, or local:4 for a try.",
)

ISOLATION = click.option(
    "--isolation",
    type=click.Choice(["full", "landlock", "process"]),
    help="The level to isolate submissions at; else the best there is, and not below landlock.",
)

AS_JSON = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."
)

SUBMISSION = click.option(
    "--submission", type=PATH, help="A file, notebook or folder in place of exercises/."
)


class Suggesting(click.Group):
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


class Program(Suggesting):
    """Lists what students need apart from what instructors do."""

    students: tuple[str, ...] = ()  # names of commands, in the order of their work

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write two lists, the students' in the order of their work."""
        rest = [name for name in self.list_commands(ctx) if name not in self.students]
        for title, names in (("Commands", self.students), ("For instructors", rest)):
            with formatter.section(title):
                rows = [(name, self.commands[name].get_short_help_str(90)) for name in names]
                formatter.write_dl(rows)


# ---- what is asked for ---------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckRequest:
    """What `grade check` was asked for."""

    exercises: Sequence[str]  # as typed; empty for all
    submission: Path | None
    course: Path | None
    hidden: bool
    as_json: bool
    html: Path | None = None  # where to write a page
    trains: bool = False  # whether trainings are run, which take long


def screen_width() -> int:
    """Return how many columns a report may take."""
    return min(shutil.get_terminal_size().columns, 100)


# ---- the bar -------------------------------------------------------------------------------------


_TAIL = 50  # columns behind the bar
_KEYS = 78  # columns while keys are built


class ProgressBar:
    """A bar on standard error, on a terminal only, once the work has taken a second."""

    def __init__(self, *, rate_of: str = "") -> None:
        """Begin to count time; `rate_of` are the things whose rate and time left are shown."""
        self._rate_of = rate_of
        self._begun = time.monotonic()
        self._shown = sys.stderr.isatty()
        self._total = 0
        self._done = 0
        self._workers: int | None = None  # of a cluster, where one grades
        self._keys = 0  # steps of building keys, which are no things of which a rate is shown

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def expect(self, steps: int) -> None:
        """Tell of more steps to come; the rate counts from the first of them."""
        if not self._total:
            self._begun = time.monotonic()
        self._total += steps

    def advance(self, label: str, steps: int = 1) -> None:
        """Tell that a step is done, or several."""
        self._done += steps
        if self._shown and time.monotonic() - self._begun > 1:
            from grader.report.layout import cut, padded  # the first bar comes late enough

            filled = 30 * self._done // max(self._total, 1)
            bar = "█" * filled + "░" * (30 - filled)
            tail = padded(cut(printable(f"{self._pace()}{label}"), _TAIL), _TAIL)
            click.echo(f"\r{bar}  {self._done}/{self._total}  {tail}", nl=False, err=True)

    def _pace(self) -> str:
        if not self._rate_of:
            return ""
        rate = self._done / (time.monotonic() - self._begun)
        left = int((self._total - self._done) / rate)
        who = "" if self._workers is None else f"{counted(self._workers, 'worker')}  "
        return f"{who}{rate * 60:.0f} {self._rate_of}/min  {left // 60}:{left % 60:02} left  "

    def count_workers(self, number: int) -> None:
        """Tell how many workers of a cluster grade now."""
        self._workers = number

    def tell(self, text: str) -> None:
        """Print a line that stays, above the bar."""
        self.finish()
        click.echo(printable(text), err=True)

    def key_step(self, what: str) -> None:
        """Tell what of the answer keys is being built: a line each where there is no terminal."""
        self._keys += 1
        if self._shown:
            from grader.report.layout import cut, padded

            text = f"answer keys, step {self._keys}: {what}"
            click.echo(f"\r{padded(cut(text, _KEYS), _KEYS)}", nl=False, err=True)
        else:
            click.echo(f"building answer keys: {what}", err=True)

    def finish(self) -> None:
        """Clear the bar's line."""
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)
