"""Which package of `grader` may import which: the table, and what reads the imports.

`test_layers.py` holds the code to the table, and `benchmarks/structure.py` counts by it. A room is
a package of `grader/`, or a module loose at its top; `grader` itself is the room `__init__`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "grader"

# From bottom to top. Each may import what stands beside it, and nothing else of `grader`.
MAY_IMPORT = {
    "errors": "",
    "files": "",
    "processes": "",
    "version": "",
    "worker": "",
    "records": "worker",
    "course": "errors version worker records",
    "handin": "errors records course",
    "plan": "errors worker records course",
    "execute": "errors worker records course handin",
    "compare": "worker records course handin",
    "properties": "errors worker records course plan compare",
    "checks": "errors worker records course plan compare properties",
    "key": "errors files processes version worker records course handin plan compare checks",
    "bundle": "errors files version records course key",
    "grading": "version worker records course handin plan execute compare properties checks key",
    "student": "errors files records course handin bundle compare grading",
    "batch": "errors files processes worker records course handin execute key grading",
    "cluster": "errors processes version course handin execute key grading batch records",
    "classes": "errors records course grading batch",
    "audit": "errors processes worker records course handin execute compare key grading student "
    "batch",
    "likeness": "errors records course handin batch classes",
    "report": "records grading audit student batch classes likeness",
    "notebook": "errors version records course handin execute grading student report",
    "nbgrader": "errors worker records course handin execute grading batch classes report notebook",
    "cli": "errors version worker records course handin execute bundle grading audit student batch "
    "classes cluster likeness report notebook nbgrader",
    "pytest_plugin": "errors records course handin execute compare checks grading student report",
    "__init__": "version notebook",
}


@dataclass(frozen=True)
class Arrow:
    """One import, wherever it stands: at the top, in a function, or for the type checker alone."""

    importer: str  # a module, as `grader.key.build`
    imported: str  # a module too
    line: int  # of the import

    @property
    def rooms(self) -> tuple[str, str]:
        """From which room to which."""
        return room_of(self.importer), room_of(self.imported)

    @property
    def runs_up(self) -> bool:
        """Whether it runs from a lower room to a higher one, against the table's order."""
        order = list(MAY_IMPORT)
        lower, upper = self.rooms
        return order.index(upper) > order.index(lower)

    def __str__(self) -> str:
        return f"{self.importer}, line {self.line}: imports {self.imported}"


def allowed(room: str) -> set[str]:
    """Return the rooms that a room may import, itself among them."""
    return {room, *MAY_IMPORT[room].split()}


def as_markdown() -> str:
    """Return the table as the architecture page shows it."""
    rows = [(f"`{room}`", others.split()) for room, others in MAY_IMPORT.items()]
    lines = [f"| {room} | {', '.join(others) or 'nothing'} |\n" for room, others in rows]
    return "".join(["| room | may import |\n", "| --- | --- |\n", *lines])


def room_of(module: str) -> str:
    """Return the room that a module lives in."""
    return module.split(".")[1] if "." in module else "__init__"


def modules() -> dict[str, Path]:
    """Return the file of every module, by its name as it is imported."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def arrows() -> list[Arrow]:
    """Read every import of one module of `grader` by another."""
    files = modules()
    return [arrow for name, path in files.items() for arrow in _arrows_of(name, path, files)]


def _arrows_of(name: str, path: Path, files: dict[str, Path]) -> Iterator[Arrow]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for wanted in _names(node, name, is_package=path.stem == "__init__"):
            target = wanted if wanted in files else wanted.rpartition(".")[0]
            if target in files and target != name:
                yield Arrow(name, target, node.lineno)  # type: ignore[attr-defined]


def _names(node: ast.AST, name: str, *, is_package: bool) -> list[str]:
    """Return what a node imports, as dotted names; the last part may be a module or not."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    parts = name.split(".")
    here = parts[: len(parts) - node.level + is_package] if node.level else []
    base = ".".join([*here, *([node.module] if node.module else [])])
    return [f"{base}.{alias.name}" for alias in node.names]


def circles(found: list[Arrow]) -> list[list[str]]:
    """Return the groups of modules of which each leads to all others."""
    onward: dict[str, set[str]] = {}
    for arrow in found:
        onward.setdefault(arrow.importer, set()).add(arrow.imported)
    reached = {module: _reach(module, onward) for module in onward}
    groups = {
        frozenset(other for other in there if module in reached.get(other, ()))
        for module, there in reached.items()
        if module in there
    }
    return sorted(sorted(group) for group in groups)


def _reach(start: str, onward: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(onward[start])
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting += onward.get(module, ())
    return seen


def with_library(library: str) -> set[str]:
    """Return the modules that import a library as they are imported, by whatever way."""
    files, onward = modules(), dict[str, set[str]]()
    for name, path in files.items():
        own = onward.setdefault(name, set())
        for node in _at_import(ast.parse(path.read_text(encoding="utf-8")).body):
            for wanted in _names(node, name, is_package=path.stem == "__init__"):
                target = wanted if wanted in files else wanted.rpartition(".")[0]
                own.add(target if target in files else wanted.partition(".")[0])
    return {name for name in files if library in _reach(name, onward)}


def _at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module is imported."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            continue
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            yield node
            yield from _at_import(getattr(node, "body", []))
