"""Keeps solutions out of a release: nbgrader copies every other file of `source/` as it is."""

from pathlib import Path
from typing import Any

from nbgrader.preprocessors import NbGraderPreprocessor

from grader.course.derive import BEGIN
from grader.errors import UsageError
from grader.notebook.finding import root_near


class RefuseSolutions(NbGraderPreprocessor):  # type: ignore[misc]
    """Stops `generate_assignment` where a solution would be copied into the release."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Look through the folder that the notebook comes from; raises UsageError."""
        source = Path(resources["metadata"]["path"]).resolve()
        secret = _secret_contents(source)
        for path in sorted(p for p in source.rglob("*") if p.is_file()):
            if path.suffix == ".ipynb":
                continue
            data = path.read_bytes()
            if BEGIN.encode() in data or data.strip() in secret:
                raise UsageError(f"{path} holds a solution and would be released: remove it")
        return nb, resources


def _secret_contents(source: Path) -> set[bytes]:
    """The contents of all files below the course's solutions; raises where the course is gone."""
    root = root_near(source)
    if root is None:
        return set()
    return {p.read_bytes().strip() for p in (root / "solutions").rglob("*") if p.is_file()} - {b""}
