"""The house: what the documents say is so, and the tree holds what it should."""

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from documents import DOCUMENTS, printed_by
from support import ROOT

from grader.cli.main import cli
from grader.course.load import load_course

_SKIPPED = re.compile(
    r"^(\.git|\.venv|venv|build|dist|\..*_cache|\.hypothesis|__pycache__|.*\.egg-info)$"
)
_BINARY = (".png", ".zip", ".safetensors", ".pyc")
_HOSTILE = ("tests/attacks/", "tests/submissions/not-utf8/")  # what they name is not ours
_REGISTRY = re.compile(r"pypi\.(org|python)|pythonhosted\.|download\.pytorch\.|anaconda\.org")
_HOME = re.compile(r"(?<![\w~.])/(home|Users|root)/\w")


def _files() -> Iterator[Path]:
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if not _SKIPPED.match(name))
        yield from (Path(folder, name) for name in sorted(names))


def _texts() -> Iterator[tuple[str, str]]:
    for path in _files():
        name = path.relative_to(ROOT).as_posix()
        if path.suffix not in _BINARY and not name.startswith(_HOSTILE):
            yield name, path.read_text(encoding="utf-8")


def _commands(
    command: click.Command, path: tuple[str, ...] = ("grade",)
) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(path), command
    if isinstance(command, click.Group):
        for name, child in sorted(command.commands.items()):
            yield from _commands(child, (*path, name))


COMMANDS = dict(_commands(cli))


@pytest.mark.parametrize("name", [name for name in COMMANDS if " " in name])
def test_command_stands_in_the_documents(name: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in DOCUMENTS]
    assert any(re.search(rf"`{name}\b", text) for text in texts)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_command_help_ends_with_an_example(name: str) -> None:
    text = COMMANDS[name].help or ""
    assert re.search(r"^\s*Examples?:$", text, re.M)
    last = text.rstrip().splitlines()[-1].strip()
    assert f"{last} ".startswith(f"{name} ")
    shown = COMMANDS[name].get_help(click.Context(COMMANDS[name], max_content_width=100))
    assert last in [line.strip() for line in shown.splitlines()]  # on a line of its own


@pytest.mark.parametrize("name", list(COMMANDS))
def test_command_help_shows_its_example_on_a_line_of_its_own(name: str) -> None:
    done = CliRunner().invoke(cli, [*name.split()[1:], "--help"])
    shown = (COMMANDS[name].help or "").rstrip().splitlines()[-1].strip()
    assert f"    {shown}" in done.output.splitlines()


def test_grade_alone_shows_what_students_need_first() -> None:
    done = CliRunner().invoke(cli, [])
    assert done.exit_code == 0
    assert done.output.index("Commands:\n  start") < done.output.index("For instructors:\n")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_command_options_have_help(name: str) -> None:
    options = [p for p in COMMANDS[name].params if isinstance(p, click.Option)]
    assert [o.name for o in options if not o.help] == []


@pytest.mark.parametrize(
    ("folder", "also"),
    [("exercises", set()), ("solutions", {"standins", "bugs", "compose", "drawing.py"})],
)
def test_course_folder_holds_what_course_yml_lists(folder: str, also: set[str]) -> None:
    listed = {exercise.file for exercise in load_course(ROOT).course.exercises}
    present = {path.name for path in (ROOT / folder).iterdir()} - {"__pycache__"}
    assert present == listed | also


def test_standins_are_those_of_listed_exercises() -> None:
    listed = {exercise.file for exercise in load_course(ROOT).course.exercises}
    present = {path.name for path in (ROOT / "solutions/standins").iterdir()} - {"__pycache__"}
    assert present <= listed


def test_bug_catalogues_are_those_of_listed_exercises() -> None:
    listed = {f"{exercise.id}.yml" for exercise in load_course(ROOT).course.exercises}
    listed.add("equivalent.yml")  # mutants that no check can tell, with reasons
    present = {path.name for path in (ROOT / "solutions/bugs").glob("*.*") if path.is_file()}
    assert present == listed


def test_stubs_are_derived_from_the_solutions() -> None:
    assert printed_by("grade derive --check") == ""


def test_constraints_pin_every_dependency_to_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = {re.split(r"[^\w.-]", text)[0].lower().replace("_", "-") for text in wanted}
    assert names <= _pins().keys()


def test_constraints_pin_torch() -> None:
    assert _pins()["torch"] == "2.13.0"


def _pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {name.lower().replace("_", "-"): version for name, version in pins}


@pytest.mark.parametrize(
    "pattern", [pytest.param(_REGISTRY, id="registry"), pytest.param(_HOME, id="home")]
)
def test_no_file_names_a_place_of_one_machine(pattern: re.Pattern[str]) -> None:
    assert [name for name, text in _texts() if pattern.search(text)] == []
