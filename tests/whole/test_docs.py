"""The documents: outputs are those of commands, tables those of the code, links lead on."""

import importlib.util
import re
import shutil
import sysconfig
import venv
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from documents import DOCUMENTS, PAGES, README, check_block, output_blocks, printed_by
from support import ROOT, TESTS
from tutorial import Tutorial

from grader.execute.isolation import Level
from grader.key.cache import Keys
from grader.version import VERSION

TUTORIAL = ROOT / "docs" / "write-a-course.md"
EXTEND = ROOT / "docs" / "extend.md"
PLAYED = (TUTORIAL, EXTEND, ROOT / "docs" / "instructors.md")  # the last one in test_term.py
_BUILT_FROM_TOP = {"security.md", "contributing.md", "changes.md"}  # docs/conf.py puts text there
_LINK = re.compile(r"\]\((?!https?:)(?P<path>[^)#]+)")
_CODE = re.compile(r"^```.*?^```$", re.M | re.S)
_CODE_FILE = re.compile(r"`(?P<path>[\w./-]+/[\w.-]+\.(?:py|json|yml))(?::[^`]*)?`")
_WHEEL = re.compile(r"grader-(?P<version>[\w.]+?)-py3-none-any\.whl")
_ROW = re.compile(r"^\| .+ \| `(?P<level>\w+)` \| (?P<attacks>`.+`) \|$", re.M)

# a block whose command is a test is checked there; pages that are played have tests of their own
RUN_HERE = [
    block
    for block in output_blocks(*(path for path in DOCUMENTS if path not in PLAYED))
    if not block.command.startswith("tests/")
]


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _played(document: Path) -> Any:
    return pytest.param(document, marks=[] if document == README else pytest.mark.long)


@pytest.mark.parametrize(
    "document", [_played(one) for one in dict.fromkeys(b.document for b in RUN_HERE)], ids=_name
)
def test_outputs_in_a_document_are_what_the_program_prints(
    document: Path,
    request: pytest.FixtureRequest,
    keys: Keys,  # noqa: ARG001 - commands read them
) -> None:
    update = request.config.getoption("--update-golden")
    for block in RUN_HERE:  # in order: a command may read what the one before it wrote
        if block.document == document:
            check_block(block, printed_by(block.command), update=update)


@pytest.mark.usefixtures("key_cache")
@pytest.mark.long
def test_tutorial_prints_what_its_page_shows(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    played = Tutorial(tmp_path)
    played.play(TUTORIAL)
    update = request.config.getoption("--update-golden")
    for block, printed in zip(output_blocks(TUTORIAL), played.outputs, strict=True):
        check_block(block, printed, update=update)
    assert played.printed["grade audit"].endswith("✓ every test of the tests passes\n")


@pytest.fixture
def checkout(tmp_path: Path) -> Tutorial:
    """Copy what the page changes, and make an environment whose grader is the copy."""
    copied = ("grader", "docs", "tests/properties", "tests/courses", "course.yml", "pyproject.toml")
    for name in [*copied, *(f"tests/{path.name}" for path in TESTS.glob("*.py"))]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, tmp_path / name)
    venv.create(tmp_path / "venv", symlinks=True)
    (packages,) = (tmp_path / "venv").glob("lib/*/site-packages")
    # as entries of the path alone: the hook of an editable install there is not heard
    lines = [str(tmp_path), sysconfig.get_paths()["purelib"]]
    (packages / "copy.pth").write_text("\n".join(lines), encoding="utf-8")
    return Tutorial(tmp_path, str(tmp_path / "venv" / "bin" / "python"))


@pytest.mark.usefixtures("key_cache")
@pytest.mark.long
def test_extensions_work_as_their_page_says(
    checkout: Tutorial, request: pytest.FixtureRequest
) -> None:
    checkout.play(EXTEND)
    run = 'pytest -q -n 2 -m "not long" tests/'
    for command in (f"{run}properties", f"{run}report"):
        assert " passed" in checkout.printed[command]
        assert " failed" not in checkout.printed[command]
    (block,) = output_blocks(EXTEND)
    check_block(block, checkout.outputs[0], update=request.config.getoption("--update-golden"))
    told = (checkout.folder / "docs" / "property-kinds.md").read_text(encoding="utf-8")
    assert "### shift-invariant" in told
    assert "--markdown" in (checkout.folder / "docs" / "commands.md").read_text(encoding="utf-8")


def test_readme_shows_a_report_with_its_output() -> None:
    shown = [block for block in RUN_HERE if block.document == README]
    assert [block for block in shown if block.command.startswith("grade check ") and block.shown]


def test_readme_has_at_most_200_lines() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


def _reference() -> ModuleType:
    """Load docs/reference.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_made_tables_are_those_of_the_code(page: Path, request: pytest.FixtureRequest) -> None:
    text = page.read_text(encoding="utf-8")
    made = _reference().filled(text)
    if request.config.getoption("--update-golden"):
        page.write_text(made, encoding="utf-8")
    else:
        assert text == made, "run: python docs/reference.py"


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_document_links_lead_somewhere(document: Path) -> None:
    prose = _CODE.sub("", document.read_text(encoding="utf-8"))
    links = [found["path"] for found in _LINK.finditer(prose)]
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_files_that_a_document_names_are_there(document: Path) -> None:
    named = [found["path"] for found in _CODE_FILE.finditer(document.read_text(encoding="utf-8"))]
    own = [path for path in named if path.startswith(("grader/", "tests/", "docs/", "benchmarks/"))]
    rooms = [p for p in named if (ROOT / "grader" / p.split("/")[0]).is_dir()]
    missing = [path for path in own if not (ROOT / path).exists()]
    missing += [path for path in rooms if not (ROOT / "grader" / path).exists()]
    assert missing == []


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in _BUILT_FROM_TOP], ids=_name)
def test_page_begins_with_whom_it_is_for(page: Path) -> None:
    title, empty, first, *_ = page.read_text(encoding="utf-8").splitlines()
    assert title.startswith("# ")
    assert empty == ""
    assert first.startswith("For ")


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_document_names_the_wheel_of_this_version(document: Path) -> None:
    named = {found["version"] for found in _WHEEL.finditer(document.read_text(encoding="utf-8"))}
    assert named <= {VERSION}


def test_sandbox_page_names_the_attacks_of_every_row() -> None:
    text = (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?!a submission|---).* \| (.*) \|$", text, flags=re.MULTILINE)
    assert len(rows) == 7
    named = set()
    for row in rows:
        found = re.findall(r"`(\d\d)`(?: to `(\d\d)`)?", row)
        assert found, row
        for first, last in found:
            named |= set(range(int(first), int(last or first) + 1))
    folders = {int(path.name[:2]) for path in (TESTS / "attacks").glob("[0-9]*")}
    assert named == folders - {10, 16}  # reports and forbidden names are no part of the sandbox


def test_security_page_tells_the_level_of_every_attack() -> None:
    rows = _ROW.finditer((ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    told: dict[str, str] = {}
    for row in rows:
        for pattern in re.findall(r"`([^`]+)`", row["attacks"]):
            found = sorted((TESTS / "attacks").glob(f"{pattern}.py"))
            assert found, pattern
            told |= {_name(path): row["level"] for path in found}
    attacks = sorted((TESTS / "attacks").glob("[0-9]*/*.py"))
    # no promise: the page says why
    advice = {f"tests/attacks/16_delegating/by_{way}.py" for way in ("other_names", "operators")}
    assert set(told.values()) == set(Level)
    assert told == {
        _name(path): path.read_text(encoding="utf-8").split()[1].rstrip(",")
        for path in attacks
        if _name(path) not in advice
    }
