"""Imports of earlier exercises inside a notebook: from the notebooks in the same folder."""

import importlib.abc
import importlib.machinery
import re
import sys
import types
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.handin.read import Source, read_source, read_submission
from grader.notebook.cells import constant_names, defined_names, definitions
from grader.notebook.finding import course_of_notebook

_STEM = re.compile(r"^[a-z]+\d+(_[a-z0-9_]+)?$")  # of an exercise's file
_LIMIT = 1 << 22  # bytes of a notebook


class EarlierNotebooks(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports an exercise's notebook in this folder as a module, where there is no .py file.

    `exercise1_attention` is found in exercise1_attention.ipynb, and, with a course at hand, in
    exercise1.ipynb. Its demonstrations, training and plots are not run.
    """

    def find_spec(
        self,
        fullname: str,
        path: Any = None,  # noqa: ARG002 - the import system's signature
        target: Any = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """Find an exercise; raises ModuleNotFoundError, with a next step, where it is missing."""
        source = _source(fullname) if _STEM.match(fullname) else None
        if source is None:
            return None
        if source.problem:
            said = f"{source.problem}: {source.next_step}" if source.next_step else source.problem
            raise ModuleNotFoundError(said, name=fullname)
        return importlib.machinery.ModuleSpec(
            fullname, self, origin=source.label, loader_state=source
        )

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the notebook's definitions; raises what they raise."""
        source: Source = module.__spec__.loader_state  # type: ignore[union-attr]
        cells = [text for _, text in source.units]
        for label, text in definitions(cells, [*defined_names(cells), *constant_names(cells)]):
            exec(compile(text, label, "exec"), module.__dict__)  # noqa: S102 - what was imported


def _source(name: str) -> Source | None:
    here = Path.cwd()
    if (here / f"{name}.ipynb").is_file():
        return read_source(here / f"{name}.ipynb", _LIMIT)
    try:
        course = course_of_notebook(here).course
        exercise = next(e for e in course.exercises if name in (e.stem, e.id))
        return read_submission(here, course, [exercise], _LIMIT).source(exercise)
    except (GraderError, StopIteration, OSError):
        return None


def install() -> None:
    """Serve these imports from now on, after all that Python finds by itself."""
    if not any(isinstance(finder, EarlierNotebooks) for finder in sys.meta_path):
        sys.meta_path.append(EarlierNotebooks())
