"""One rule says which file is an exercise's, for every command."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.batch.entries import Entry, read_entry
from grader.course.load import CourseFolder
from grader.course.models import Course
from grader.errors import SubmissionError
from grader.handin.gather import Part, gather
from grader.handin.pick import pick
from grader.handin.read import Source, read_submission
from grader.student.pack import collect_files
from grader.student.watch import FileEvents

STEM = "exercise1_attention"
LIMIT = 2**21


@pytest.mark.parametrize(
    ("names", "first"),
    [
        ([f"{STEM}.py", f"{STEM} (1).py"], f"{STEM} (1).py"),
        ([f"{STEM}.py", f"{STEM}(2).py", f"{STEM}-10.py"], f"{STEM}-10.py"),
        ([f"{STEM}.ipynb", "exercise1.py"], "exercise1.py"),
        (["exercise1.py", f"{STEM}.py"], f"{STEM}.py"),
        ([f"{STEM} (3).ipynb", f"{STEM}.py"], f"{STEM}.py"),
        ([f"old/{STEM}-2.py", f"{STEM}.py"], f"{STEM}.py"),
        ([f"{STEM}.PY", "exercise10.py", "exercise1_other.py"], f"{STEM}.PY"),
    ],
)
def test_pick_takes_the_file_that_is_meant(
    names: list[str], first: str, folder: CourseFolder
) -> None:
    exercise = folder.course.exercises[0]
    assert pick(names, exercise)[0] == pick(names[::-1], exercise)[0] == first


def _checked(place: Path, course: Course) -> Source:
    return read_submission(place, course, [course.exercises[0]], LIMIT).source(course.exercises[0])


def _of_a_class(place: Path, course: Course) -> Source:
    handed = read_entry(Entry("ada", (Part(place, place.name),)), course)
    return handed.submission.source(course.exercises[0])


def _packed(place: Path, course: Course) -> Source:
    ((name, data),) = collect_files(place, course.exercises, LIMIT).items()
    return Source(name, ((name, data.decode()),), notes=_checked(place, course).notes)


READERS = (_checked, _of_a_class, _packed)


def _two(place: Path) -> None:
    (place / f"{STEM}.py").write_text("first")
    (place / f"{STEM} (1).py").write_text("taken")


def _below(place: Path) -> None:
    (place / "work").mkdir()
    (place / "work" / f"{STEM}.py").write_text("taken")


def _zipped(place: Path) -> None:
    with zipfile.ZipFile(place / "work.zip", "w") as archive:
        archive.writestr(f"{STEM}.py", "taken")


def _beside_a_zip(place: Path) -> None:
    (place / f"{STEM}.py").write_text("taken")
    (place / "work.zip").write_text("no zip")


def _many_below(place: Path) -> None:
    (place / f"{STEM}.py").write_text("taken")
    (place / "data").mkdir()
    for number in range(2001):
        (place / "data" / f"{number}.txt").touch()


@pytest.mark.parametrize("made", [_two, _below, _zipped, _beside_a_zip, _many_below])
def test_every_command_takes_the_same_file(
    made: Callable[[Path], None], tmp_path: Path, folder: CourseFolder
) -> None:
    made(tmp_path)
    read = [reader(tmp_path, folder.course) for reader in READERS]
    assert [one.units[0][1] for one in read] == ["taken"] * len(READERS)
    assert len({(one.label, one.notes) for one in read}) == 1


def test_folder_of_too_many_files_is_refused_by_every_command(
    tmp_path: Path, folder: CourseFolder
) -> None:
    (tmp_path / f"{STEM}.py").write_text("x = 1")
    for number in range(2001):
        (tmp_path / f"{number}.txt").touch()
    said = f"{tmp_path.name} holds more than 2000 files: hand in only the code"
    assert _checked(tmp_path, folder.course).problem == said
    assert _of_a_class(tmp_path, folder.course).problem == said
    with pytest.raises(SubmissionError, match="holds more than 2000 files"):
        collect_files(tmp_path, folder.course.exercises, LIMIT)


def test_environment_of_python_is_no_work(tmp_path: Path, folder: CourseFolder) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / "venv" / f"{STEM}.py").touch()
    assert _checked(tmp_path, folder.course).absent


def test_watch_looks_at_the_file_that_is_graded(tmp_path: Path, folder: CourseFolder) -> None:
    (tmp_path / f"{STEM}.py").write_text("first")
    events = FileEvents(tmp_path, folder.course.exercises)
    (tmp_path / f"{STEM} (1).py").write_text("taken")
    assert events.wait() == {"exercise1"}


def test_a_file_that_two_parts_have_is_told(tmp_path: Path) -> None:
    parts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "exercise1.py").write_text(f"# {name}\n", encoding="utf-8")
        parts.append(Part(tmp_path / name, name))
    gathered = gather(parts, 2**20)
    assert list(gathered.files) == ["exercise1.py"]
    assert gathered.notes == ("handed in twice, and the last one counts: exercise1.py",)
