"""Makes the zip that Gradescope builds an autograder from: scripts, grader, and a sealed course.

- setup.sh: run once, with the network, when Gradescope makes the image
- run_autograder: run for each submission; needs no network
- torch-requirements.txt, requirements.txt: the libraries
- lib/grader/: grader itself, as it made the zip
- course/: stubs, public and hidden keys; no solution and no known bug
- settings.json: what `grade gradescope run` reads
"""

import importlib.metadata
import importlib.resources
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from grader.bundle.release import make_bundle
from grader.course.load import CourseFolder
from grader.course.written import libraries_of
from grader.errors import CourseError
from grader.files import zipped
from grader.key.secret import hidden_secret

PROGRAMS = ("setup.sh", "run_autograder")
_SETTINGS = "settings.json"
_TORCH = "torch"
_CODE = (".py", ".j2", ".json", ".typed")  # what of grader's package is needed
_PACKAGE = Path(__file__).resolve().parents[1]


class Visibility(StrEnum):
    """When Gradescope shows a test to students."""

    VISIBLE = "visible"
    AFTER_DUE_DATE = "after_due_date"
    AFTER_PUBLISHED = "after_published"
    HIDDEN = "hidden"


class Settings(BaseModel):
    """What a zip says to its own run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    visibility: Visibility = Visibility.VISIBLE
    part: str = ""  # the one part that is graded; "" for the whole course
    isolation: str = ""  # the level that was asked for; "" for the best, and not below landlock


def make_autograder(
    folder: CourseFolder,
    settings: Settings,
    *,
    torch_index: str = "",
    on_built: Callable[[str], None] = lambda _: None,
) -> bytes:
    """Return the zip; `torch_index` is where pip finds the CPU build of torch.

    Raises CourseError where a solution or known bug would be in it.
    """
    course = make_bundle(
        folder, part=settings.part, secret=hidden_secret(folder), on_built=on_built
    )
    scripts = importlib.resources.files("grader.bundle") / "templates"
    files = {name: (scripts / name).read_bytes() for name in PROGRAMS}
    files |= {f"course/{name}": data for name, data in course.items()}
    files |= {f"lib/grader/{name}": data for name, data in _own_code().items()}
    index = [f"--index-url {torch_index}"] if torch_index else []
    pinned = _requirements(libraries_of(folder.course))
    files["torch-requirements.txt"] = _lines([*index, pinned.pop(_TORCH)])
    files["requirements.txt"] = _lines([*pinned.values()])
    files[_SETTINGS] = settings.model_dump_json(indent=1).encode()
    return zipped(files, programs=PROGRAMS)


def read_settings(source: Path) -> Settings:
    """Read what a zip says to its own run; raises CourseError."""
    path = source / _SETTINGS
    try:
        return Settings.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        raise CourseError(f"{path} cannot be read: build the autograder again") from None


def _own_code() -> dict[str, bytes]:
    """Return the files of grader's package, without a bundle that it may carry."""
    paths = [path for path in sorted(_PACKAGE.rglob("*")) if path.is_file()]
    names = {path.relative_to(_PACKAGE).as_posix(): path for path in paths}
    return {
        name: path.read_bytes()
        for name, path in names.items()
        if "__pycache__" not in name and (path.suffix in _CODE or path.name in PROGRAMS)
    }


def _requirements(more: Sequence[str]) -> dict[str, str]:
    """Return the libraries that grader and a course need, each in the version that it has here."""
    told = importlib.metadata.requires("grader") or []
    found = [re.match(r"[\w.-]+", line) for line in told if "extra ==" not in line]
    names = [*(match[0] for match in found if match), *more]
    versions = {name: importlib.metadata.version(name).partition("+")[0] for name in names}
    return {name: f"{name}=={version}" for name, version in versions.items()}


def _lines(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
