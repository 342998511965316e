"""What an answer key depends on: the course, the solutions, the engine's code and libraries."""

import ast
import hashlib
import importlib.metadata
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from grader.course.load import COURSE_FILE, CourseFolder
from grader.course.written import libraries_of
from grader.version import VERSION
from grader.worker.data import DATA

_PACKAGE = "grader"
_BUILDS = f"{_PACKAGE}.key.build"  # the module that building a key begins in
_TOP = Path(__file__).resolve().parents[2]  # the folder that the package lies in
_LIBRARIES = ("numpy", "hypothesis")  # beside those of the course's frameworks
_ASIDE = frozenset({"__pycache__", "compose"})  # folders beside the solutions that no key reads


def content_digest(folder: CourseFolder, split: str, secret: bytes) -> str:
    """Return a digest of everything that a key depends on, in hexadecimal."""
    digest = hashlib.sha256()
    for part in (split, hashlib.sha256(secret).hexdigest(), engine_digest(), *_versions(folder)):
        digest.update(f"{part}\n".encode())
    folders = (folder.solutions, folder.root / DATA)
    files = [folder.root / COURSE_FILE, *(p for one in folders for p in sorted(one.rglob("*")))]
    for path in files:
        if path.is_file() and _ASIDE.isdisjoint(path.relative_to(folder.root).parts):
            name = path.relative_to(folder.root).as_posix()
            digest.update(f"{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _versions(folder: CourseFolder) -> list[str]:
    libraries = (*libraries_of(folder.course), *_LIBRARIES)
    return [f"{name} {importlib.metadata.version(name)}" for name in libraries]


@cache
def engine_digest(top: Path = _TOP) -> str:
    """Return a digest of the engine's own code that builds keys; `grader` lies in `top`."""
    digest = hashlib.sha256(VERSION.encode())
    for name, path in building_modules(top).items():
        digest.update(f"{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def building_modules(top: Path) -> dict[str, Path]:
    """Return the modules of grader that building a key imports, by name, in alphabetical order.

    They are read, not run. Imports inside of functions count, but for those of a package that is
    imported only on the way to a module of its own.
    """
    found: dict[str, Path] = {}
    waiting = [_BUILDS]
    while waiting:
        name = waiting.pop()
        if name in found or (path := _file_of(name, top)) is None:
            continue
        found[name] = path
        waiting += [name.rpartition(".")[0], *_imported_by(path, top)]
    return dict(sorted(found.items()))


def _file_of(name: str, top: Path) -> Path | None:
    """Return the file of a module of grader, None where there is none of this name."""
    if name.partition(".")[0] != _PACKAGE:
        return None
    path = top.joinpath(*name.split("."))
    files = (path / "__init__.py", path.with_name(f"{path.name}.py"))
    return next((file for file in files if file.is_file()), None)


def _imported_by(path: Path, top: Path) -> Iterator[str]:
    package = path.name == "__init__.py"
    for node in _statements(ast.parse(path.read_bytes()).body, functions=not package):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = path.relative_to(top).parts[: -node.level] if node.level else ()
            base = ".".join([*parent, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            yield from _named(node.value.value, top)


def _named(value: object, top: Path) -> Iterator[str]:
    """A package that is named in a text has its modules imported one by one, as a registry."""
    if isinstance(value, str) and (path := _file_of(value, top)) and path.name == "__init__.py":
        yield from (f"{value}.{module.stem}" for module in path.parent.glob("*.py"))


def _statements(body: Sequence[ast.AST], *, functions: bool) -> Iterator[ast.AST]:
    """Return all statements, those inside of others too; of functions where it is asked for."""
    for node in body:
        yield node
        if functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                yield from _statements(getattr(node, field, ()), functions=functions)
