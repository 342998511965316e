"""A student's first hour, as docs/students.md tells it: runs the commands, prints what they say."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent / "submissions"
_GRADE = "import sys; sys.argv[0] = 'grade'; from grader.cli.main import main; main()"
_FOLDER = "my-transformer"
_LINES = 16  # of a report that are shown


def main() -> None:
    """Go from nothing to a passed exercise."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        course = home / _FOLDER
        _run(home, f"grade start {_FOLDER}")
        print(f"$ cd {_FOLDER}\n")
        _put(course, "exercise1", "missing-scale")
        _run(course, "grade check exercise1", first=9)
        _run(course, "grade hint exercise1")
        _run(course, "grade hint exercise1")
        _put(course, "exercise1", "perfect")
        _run(course, "grade check exercise1", first=1)
        _run(course, "grade list")


def _put(course: Path, exercise: str, sample: str) -> None:
    """Write a sample student's file where the stub stands."""
    (file,) = (SAMPLES / sample).glob(f"{exercise}_*.py")
    shutil.copyfile(file, course / "exercises" / file.name)


def _run(cwd: Path, command: str, *, first: int = _LINES) -> None:
    _, *arguments = shlex.split(command)
    environment = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-c", _GRADE, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    lines = (done.stdout or done.stderr).rstrip("\n").split("\n")
    shown = lines[:first] + (["  …"] if len(lines) > first else [])
    print(f"$ {command}", *shown, sep="\n", end="\n\n", flush=True)


if __name__ == "__main__":
    main()
