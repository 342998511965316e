"""`grade nbgrader init`: writes a course directory for nbgrader, and later updates it."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.course.derive import read_solution
from grader.course.load import CourseFolder
from grader.errors import UsageError, writing
from grader.nbgrader.source import source_notebook
from grader.notebook.finding import INIT_MANIFEST, InitManifest, read_init_manifest

CONFIG = "nbgrader_config.py"
CONFLICTS = "conflicts"
_CONFIG_TEXT = '''"""nbgrader's configuration for this course; what you add here is kept."""

from grader.nbgrader import configure

c = get_config()  # noqa: F821 - nbgrader's own
configure(c)
'''


@dataclass(frozen=True)
class Change:
    """What became of one file."""

    path: str  # below the directory
    what: str  # wrote, updated, unchanged, kept, removed or conflict


def init_directory(
    directory: Path, folder: CourseFolder, assignment: str, *, restore: bool = False
) -> list[Change]:
    """Write or update configuration and source notebooks; conflicts are left as they are.

    A file that only the course changed is updated; one that only the instructor changed is kept;
    one that the instructor removed stays away unless `restore` is given; one that both changed is a
    conflict: it stays, and the new text is put below `conflicts/`, where it is no danger to a
    release. Deleting it there says that the conflict is resolved.
    """
    _check_name(assignment)
    texts = {CONFIG: _CONFIG_TEXT, **_notebooks(folder, assignment)}
    written = dict(_manifest_before(directory).written)
    changes = [
        Change(name, _update(directory, name, text, written, restore=restore))
        for name, text in texts.items()
    ]
    course = os.path.relpath(folder.root.resolve(), directory.resolve())
    _write(directory / INIT_MANIFEST, InitManifest(Path(course).as_posix(), written).to_json())
    return changes


def _update(
    directory: Path, name: str, text: str, written: dict[str, str], *, restore: bool
) -> str:
    """Write one file if it is ours to write; returns what became of it, and notes what was written.

    `written` holds the digests of what was written, by name.
    """
    aside = f"{CONFLICTS}/{name}"
    resolved = written.get(aside) == _digest(text) and not (directory / aside).exists()
    last = _digest(text) if resolved else written.get(name, "")
    if last and name != CONFIG and not restore and not (directory / name).exists():
        return "removed"
    change = _place(directory / name, text, last)
    if change == "conflict":
        _write(directory / aside, text)
        written[aside] = _digest(text)
    else:
        (directory / aside).unlink(missing_ok=True)
        written.pop(aside, None)
        written[name] = _digest(text)
    return change


def _check_name(assignment: str) -> None:
    allowed = assignment.replace("-", "").replace("_", "").replace(" ", "")
    if not allowed.isalnum():
        raise UsageError(f"'{assignment}' is no name for an assignment: use letters and digits")


def _notebooks(folder: CourseFolder, assignment: str) -> dict[str, str]:
    texts = {}
    for exercise in folder.course.exercises:
        solution = read_solution(folder.solutions / exercise.file)
        texts[f"source/{assignment}/{exercise.id}.ipynb"] = source_notebook(exercise, solution)
    return texts


def _manifest_before(directory: Path) -> InitManifest:
    return (
        read_init_manifest(directory) if (directory / INIT_MANIFEST).exists() else InitManifest("")
    )


def _place(path: Path, text: str, last: str) -> str:
    """Write one file unless the instructor changed it; `last` is the digest written before."""
    try:
        present = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        _write(path, text)
        return "wrote"
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({type(error).__name__})") from None
    if _digest(present) == _digest(text):
        return "unchanged"
    if last == _digest(present):
        _write(path, text)
        return "updated"
    return "kept" if last == _digest(text) else "conflict"


def _write(path: Path, text: str) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _digest(text: str) -> str:
    """Digest a text; of a notebook only what an author writes, not what saving it changes."""
    try:
        meaning = json.dumps(_meaning(json.loads(text)), sort_keys=True)
    except (ValueError, TypeError, AttributeError, RecursionError):
        meaning = text
    return hashlib.sha256(meaning.encode()).hexdigest()


def _meaning(notebook: Any) -> list[object]:
    """What of a notebook's JSON an author writes; raises what Python does where it is none."""
    return [
        [cell["cell_type"], "".join(cell["source"]), cell["metadata"].get("nbgrader")]
        for cell in notebook.get("cells", [])
    ]
