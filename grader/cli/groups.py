"""What the commands share: groups that help along, and options."""

import difflib
from pathlib import Path

import click

COURSE = click.option(
    "--course",
    type=click.Path(path_type=Path),
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

SUBMISSION = click.option(
    "--submission",
    type=click.Path(path_type=Path),
    help="A file, notebook or folder in place of exercises/.",
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
