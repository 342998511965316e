"""Opens nbgrader's gradebook, with each trouble as one line."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbgrader
import sqlalchemy.exc
from alembic.config import Config as AlembicConfig
from alembic.script import ScriptDirectory
from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy.engine import make_url

from grader.errors import UsageError
from grader.nbgrader.sheet import Sheet, read_sheet

_PATIENCE = 2  # seconds to wait for another writer before anything was done


@contextlib.contextmanager
def open_gradebook(db_url: str, course_id: str = "") -> Iterator[Any]:
    """Open an existing gradebook of this nbgrader's version; raises UsageError in one line."""
    url = make_url(db_url)
    path = url.database or ""
    if url.get_backend_name() == "sqlite":
        _check_version(Path(path))
    try:
        with Gradebook(db_url, course_id) as gradebook:
            yield gradebook
    except sqlalchemy.exc.OperationalError as error:
        raise UsageError(f"{path}: {_said(error)}") from None


def read_sheets(gradebook: Any, assignment: str) -> dict[str, Sheet]:
    """Return an assignment's sheets by notebook; raises UsageError where it is unknown."""
    try:
        found = gradebook.find_assignment(assignment)
    except MissingEntry:
        known = ", ".join(a.name for a in gradebook.assignments) or "none yet"
        raise UsageError(
            f"no assignment '{assignment}' in the gradebook (known: {known}): "
            f"run nbgrader generate_assignment {assignment}"
        ) from None
    if not found.notebooks:
        raise UsageError(f"the gradebook knows no notebook of {assignment}")
    return {notebook.name: read_sheet(notebook) for notebook in found.notebooks}


def _check_version(path: Path) -> None:
    """Look before nbgrader opens the file, which would add tables to an older one."""
    if not path.is_file():
        raise UsageError(f"{path} is not there: run nbgrader generate_assignment first")
    try:
        place = f"{path.resolve().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(place, uri=True, timeout=_PATIENCE)) as db:
            (version,) = db.execute("SELECT version_num FROM alembic_version").fetchone()
    except (sqlite3.Error, TypeError) as error:
        if "locked" in str(error):
            raise UsageError(f"{path}: {_said(error)}") from None
        raise UsageError(f"{path} is no gradebook of nbgrader's, or of a very old one") from None
    if version != _head():
        raise UsageError(
            f"{path} is of another version of nbgrader: back it up, then run nbgrader db upgrade"
        )


def _head() -> str:
    config = AlembicConfig()
    config.set_main_option("script_location", str(Path(nbgrader.__file__).parent / "alembic"))
    return str(ScriptDirectory.from_config(config).get_current_head())


def _said(error: Exception) -> str:
    if "locked" in str(error):
        return "another program is writing to the gradebook: try again when it is done"
    return f"the gradebook cannot be used ({str(error).splitlines()[0][:200]})"
