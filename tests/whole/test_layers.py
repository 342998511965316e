"""Which package may import which: the table of layers.py, the code, and the architecture page."""

import re
from pathlib import Path

import layers
import pytest
from layers import MAY_IMPORT, Arrow, allowed, arrows, circles, room_of, with_library
from support import ROOT

_PAGE = ROOT / "docs/architecture.md"
_TABLE = re.compile(r"^\| room \| may import \|\n(\|.*\n)+", re.M)
ARROWS = arrows()


def test_every_room_stands_in_the_table() -> None:
    assert {room_of(module) for module in layers.modules()} <= MAY_IMPORT.keys()


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_room_imports_what_the_table_allows(room: str) -> None:
    mine = [arrow for arrow in ARROWS if arrow.rooms[0] == room]
    assert [str(arrow) for arrow in mine if arrow.rooms[1] not in allowed(room)] == []


def test_torch_is_imported_in_processes_of_their_own_alone() -> None:
    """Those that build keys and audit; the worker aside, which is a child of its own."""
    there = {name for name in with_library("torch") if room_of(name) != "worker"}
    assert there == {
        "grader.audit.compose.program", "grader.audit.mutation", "grader.audit.trial",
        "grader.key.build", "grader.key.build_bugs", "grader.key.build_pairs",
        "grader.key.declared", "grader.key.drawing", "grader.key.reference",
    }  # fmt: skip
    assert "grader.worker.keras_layers" in with_library("keras")
    assert {room_of(name) for name in with_library("keras")} == {"worker"}


def test_table_allows_no_arrow_that_runs_up() -> None:
    rows = [Arrow(f"grader.{room}", f"grader.{o}", 0) for room in MAY_IMPORT for o in allowed(room)]
    assert [str(arrow) for arrow in rows if arrow.runs_up] == []


def test_no_module_leads_back_to_itself() -> None:
    assert circles(ARROWS) == []


def test_architecture_page_shows_the_table(request: pytest.FixtureRequest) -> None:
    text = _PAGE.read_text(encoding="utf-8")
    if request.config.getoption("--update-golden"):
        text = _TABLE.sub(layers.as_markdown(), text)
        _PAGE.write_text(text, encoding="utf-8")
    assert [found[0] for found in _TABLE.finditer(text)] == [layers.as_markdown()]


# ---- the reader itself ---------------------------------------------------------------------------

_TEXT = """
from typing import TYPE_CHECKING
import grader.a.low
from grader.b import other, NAME
from . import other as near
from .other import NAME

if TYPE_CHECKING:
    from grader.b.third import Typed

def late():
    from ..a import low
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a small package in the place of grader."""
    files = {"__init__": "", "a/__init__": "", "a/low": "from grader.b import one\n"}
    files |= {"b/__init__": "", "b/one": _TEXT, "b/other": "", "b/third": ""}
    for name, text in files.items():
        path = tmp_path / "grader" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(layers, "PACKAGE", tmp_path / "grader")
    return tmp_path


def test_arrows_are_read_wherever_they_stand(small: Path) -> None:  # noqa: ARG001
    found = [(a.imported, a.line) for a in arrows() if a.importer == "grader.b.one"]
    assert sorted(found, key=lambda arrow: arrow[1]) == [
        ("grader.a.low", 3), ("grader.b.other", 4), ("grader.b", 4), ("grader.b.other", 5),
        ("grader.b.other", 6), ("grader.b.third", 9), ("grader.a.low", 12),
    ]  # fmt: skip


def test_circles_are_found_through_functions(small: Path) -> None:  # noqa: ARG001
    assert circles(arrows()) == [["grader.a.low", "grader.b.one"]]
