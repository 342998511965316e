"""Fills the tables of the reference pages from the code: python docs/reference.py.

What stands between `<!-- made: WHAT -->` and `<!-- end -->` in a page is made here. WHAT is a model
of course.yml (its keys), `property kinds` (each kind with its keys), `property questions` (what
others ask of a kind), or `commands`.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from grader.audit import mutation
from grader.classes import adjustments
from grader.cli.main import cli
from grader.course import bugs, cases, limits, models, questions
from grader.course.kinds import find_kinds
from grader.course.models import Property
from grader.course.record import literals_of
from grader.properties import base

PAGES = Path(__file__).resolve().parent
_MADE = re.compile(r"<!-- made: (?P<what>[^>]+?) -->\n(?P<text>.*?)<!-- end -->", re.DOTALL)
_COMMON = ("id", "kind", "weight")  # keys of every property
_SAID = {  # what a kind says of itself, in words
    "by_values": "It compares values, so it is judged once the numeric check passes.",
    "of_parts": "",
    "claim": "",
    "shrinkable": "Where it fails, the report shows the smallest input found that breaks it.",
    "for_a_person": "Where it fails, the submission is listed for a person to look at.",
}


def filled(text: str) -> str:
    """Return a page with everything that is made in it made anew."""
    return _MADE.sub(
        lambda found: f"<!-- made: {found['what']} -->\n{_made(found['what'])}<!-- end -->", text
    )


def _made(what: str) -> str:
    if what == "property kinds":
        return "\n".join(_kind(kind) for kind in find_kinds())
    if what == "property questions":
        return _questions()
    if what == "commands":
        return "\n".join(_command(name, one) for name, one in _commands(cli, ("grade",)))
    places = (base, models, cases, limits, bugs, questions, mutation, adjustments)
    found = next(getattr(place, what) for place in places if hasattr(place, what))
    return _table(found)


# ---- models ----------------------------------------------------------------------------------


def _table(model: type[BaseModel], without: tuple[str, ...] = ()) -> str:
    """Return a model's keys as a table; each has to say what it means."""
    rows = [(name, field) for name, field in model.model_fields.items() if name not in without]
    if not rows:
        return ""
    lines = ["| key | default | meaning |", "| --- | --- | --- |"]
    for name, field in rows:
        if not field.description:
            raise ValueError(f"{model.__name__}.{name} has no description")
        lines.append(f"| `{name}` | {_default(field)} | {field.description} |")
    return "\n".join(lines) + "\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is PydanticUndefined or default is None or default in ("", [], {}, ()):
        return "none"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _kind(kind: type[Property]) -> str:
    """Return a kind's section: what it says of itself, its keys, and a use in the course."""
    name = literals_of(kind)[0]
    parts = [f"### {name}\n", f"{' '.join((kind.__doc__ or '').split())}\n"]
    flags = [text for flag, text in _SAID.items() if getattr(kind, flag) is True and text]
    parts += [f"{' '.join(flags)}\n"] if flags else []
    parts += [table] if (table := _table(kind, _COMMON)) else ["No keys of its own.\n"]
    parts += [f"```yaml\n{use}```\n"] if (use := _use_of(name)) else []
    return "\n".join(parts)


def _questions() -> str:
    """Return what others ask of a kind: the class variables of Property with their comments."""
    asked = re.findall(
        r"^    (\w+): ClassVar\[\w+\] = (\w+)  # (.+)$", inspect.getsource(Property), re.M
    )
    rows = [f"| `{name}` | {default.lower()} | {said} |" for name, default, said in asked]
    head = ["| class attribute | default | true where the kind … |", "| --- | --- | --- |"]
    return "\n".join([*head, *rows]) + "\n"


def _use_of(kind: str) -> str:
    """Return the first property of a kind in the course of transformers, "" where it has none."""
    course = yaml.safe_load((PAGES.parent / "course.yml").read_text(encoding="utf-8"))
    targets = [target for exercise in course["exercises"] for target in exercise["targets"]]
    own = [prop for target in targets for prop in target.get("properties", [])]
    every = [*course["every_target"], *course["every_module"], *own]
    used = next((prop for prop in every if prop["kind"] == kind), None)
    if used is None:
        return ""
    return yaml.safe_dump([used], default_flow_style=None, sort_keys=False, width=90)


# ---- commands --------------------------------------------------------------------------------


def _commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that does something, students' first."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    first = tuple(getattr(command, "students", ()))
    for name in [*first, *(n for n in sorted(command.commands) if n not in first)]:
        yield from _commands(command.commands[name], (*path, name))


def _command(name: str, command: click.Command) -> str:
    context = click.Context(command)
    arguments = [p.make_metavar(context) for p in command.params if isinstance(p, click.Argument)]
    text, _, examples = (command.help or "").partition("\b")
    parts = [f"### {name}\n", f"`{' '.join([name, *arguments])}`\n", f"{_flowed(text)}\n"]
    options = [p for p in command.params if isinstance(p, click.Option)]
    if options:
        rows = [f"| `{_shown(p, context)}` | {p.help} |" for p in options]
        parts.append("\n".join(["| option | |", "| --- | --- |", *rows]) + "\n")
    lines = [line.strip() for line in examples.splitlines()[2:] if line.strip()]
    parts.append("\n".join(["```sh", *lines, "```"]) + "\n")
    return "\n".join(parts)


def _flowed(text: str) -> str:
    """Return paragraphs without the line breaks of a docstring."""
    paragraphs = [" ".join(part.split()) for part in text.strip().split("\n\n")]
    return "\n\n".join(paragraphs)


def _shown(option: click.Option, context: click.Context) -> str:
    """Return an option as it is typed: `-o, --output PATH`."""
    names = ", ".join(sorted(option.opts, key=len))
    value = "" if option.is_flag else f" {option.make_metavar(context)}"
    return f"{names}{value}".replace("|", "\\|")


if __name__ == "__main__":
    for page in sorted(PAGES.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        if (after := filled(before)) != before:
            page.write_text(after, encoding="utf-8")
            print(f"wrote {page.name}")
