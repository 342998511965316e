"""Loads solutions and stand-ins as modules that leave no trace in the import system."""

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

SOLUTIONS = Path(__file__).resolve().parent.parent / "solutions"
STANDINS = SOLUTIONS / "standins"


def load_solution(name: str) -> ModuleType:
    """Load a reference, which finds the references of earlier exercises by their plain names.

    `name` is a file's stem, such as "exercise3_multi_head". Each call loads anew. Raises
    FileNotFoundError where there is no such solution.
    """
    return _load(name, SOLUTIONS)


def load_standin(name: str) -> ModuleType:
    """Load the stand-in of the same name; what `load_solution` says holds for it too."""
    return _load(name, STANDINS)


def _load(name: str, folder: Path) -> ModuleType:
    path = folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    with _importable(folder, name):
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return module


@contextmanager
def _importable(folder: Path, name: str) -> Iterator[None]:
    """Put a folder first on the import path; then restore the path and all names concerned.

    No compiled file is left there: other tests, in other processes, watch the folder for changes.
    """
    names = {name, *(path.stem for path in folder.glob("*.py"))}
    path_before = sys.path[:]
    compiled, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    modules_before = {key: sys.modules.pop(key) for key in names if key in sys.modules}
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.dont_write_bytecode = compiled
        sys.path[:] = path_before
        for key in names:
            sys.modules.pop(key, None)
        sys.modules.update(modules_before)
