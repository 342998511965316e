"""Whatever stands in a class's folder is graded, or named in a row or a note."""

import io
import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.batch.entries import Entry, find_entries, find_others, read_entry
from grader.course.load import CourseFolder
from grader.handin.gather import Part
from grader.handin.pick import proper_name

FILE = "exercise1_attention.py"
Tree = Mapping[str, Any]  # by name: what a folder or a zip holds, None for a file

FILES = st.sampled_from([
    FILE, "exercise1.py", "exercise1_attention (1).py", "exercise3_multi_head.PY", "helper.py",
    "notes.txt", "work.tar.gz", "bad.zip", "bad.ZIP",
])  # fmt: skip
HOLDERS = st.sampled_from(["work", "old", ".git", "__MACOSX", "x.zip", "x.ZIP", "y.zip", FILE])
LEAVES = st.dictionaries(FILES, st.none(), max_size=3)
WORK = st.recursive(
    LEAVES,
    lambda inner: st.builds(dict.__or__, LEAVES, st.dictionaries(HOLDERS, inner, max_size=3)),
    max_leaves=10,
)
STUDENTS = st.sampled_from(["ada", "bob", "Ada", "cy.zip", "cy.ZIP", "cy", ".dan", "exercise1.py"])
CLASSES = st.builds(
    dict.__or__,
    st.dictionaries(STUDENTS, WORK, min_size=1),
    st.dictionaries(st.sampled_from(["ada.py", "bob_exercise1.py", "eve.rar", "t.txt"]), st.none()),
)


def _texts(tree: Tree, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield each source of a tree by its path, with a text of its own."""
    for name, inner in tree.items():
        path = f"{place}/{name}".lstrip("/")
        if inner is not None:
            yield from _texts(inner, path)
        elif name.lower().endswith(".py"):
            yield path, f"# {path}\n"


def _put(folder: Path, tree: Tree, place: str = "") -> None:
    """Make a tree in a folder; a zip in a zip, too."""
    folder.mkdir(exist_ok=True)
    for name, inner in tree.items():
        path = f"{place}/{name}".lstrip("/")
        if inner is None:
            (folder / name).write_text(f"# {path}\n", encoding="utf-8")
        elif name.lower().endswith(".zip"):
            (folder / name).write_bytes(_zipped(inner, path))
        else:
            _put(folder / name, inner, path)


def _zipped(tree: Tree, place: str) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archive:
        _write(archive, tree, "", place)
    return kept.getvalue()


def _write(archive: zipfile.ZipFile, tree: Tree, inside: str, place: str) -> None:
    for name, inner in tree.items():
        path = f"{place}/{name}"
        if inner is None:
            archive.writestr(f"{inside}{name}", f"# {path}\n")
        elif name.lower().endswith(".zip"):
            archive.writestr(f"{inside}{name}", _zipped(inner, path))
        else:
            _write(archive, inner, f"{inside}{name}/", path)


def _nobodys(path: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.split("/"))


def _is_told(path: str, said: str) -> bool:
    """Whether words name a file, or a folder or an archive that it is in."""
    parts = path.split("/")
    above = ["/".join(parts[start:end]) for end in range(2, len(parts) + 1) for start in (0, 1)]
    archives = [part for part in parts if part.lower().endswith(".zip")]
    return any(name in said for name in [*filter(None, above), *archives])


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(tree=CLASSES)
def test_whatever_stands_in_a_class_folder_is_graded_or_told(
    tree: Tree, tmp_path_factory: pytest.TempPathFactory, folder: CourseFolder
) -> None:
    place = tmp_path_factory.mktemp("class") / "class"
    _put(place, tree)
    entries = find_entries(place, folder.course) if any(map(_is_somebodys, tree)) else []
    noted = find_others(place, folder.course)
    rows = {part.path.name for entry in entries for part in entry.parts}
    assert rows | {note.split()[0] for note in noted} == set(tree)
    handed = [read_entry(entry, folder.course) for entry in entries]
    sources = [source for one in handed for source in one.submission.sources.values()]
    graded = {text for source in sources for _, text in source.units}
    said = "\n".join(
        [*(note for one in handed for note in one.notes)]
        + [text for source in sources for text in (*source.notes, source.problem)]
    )
    for path, text in _texts(tree):
        known = any(proper_name(path.rpartition("/")[2], e) for e in folder.course.exercises)
        if known and "/" in path and not _nobodys(path):
            assert text in graded or _is_told(path, said), (path, said)


def _is_somebodys(name: str) -> bool:
    return name != "t.txt" and not name.startswith(".")


def _read(place: Path, folder: CourseFolder) -> tuple[str, tuple[str, ...]]:
    """Return the text, or the problem, of exercise 1, and all notes."""
    handed = read_entry(Entry("ada", (Part(place, place.name),)), folder.course)
    source = handed.submission.sources["exercise1"]
    return source.units[0][1] if source.units else source.problem, (*handed.notes, *source.notes)


def test_a_bad_zip_leaves_the_good_one_beside_it(tmp_path: Path, folder: CourseFolder) -> None:
    _put(tmp_path / "ada", {"bad.zip": None, "good.zip": {FILE: None}})
    assert _read(tmp_path / "ada", folder) == (
        f"# good.zip/{FILE}\n",
        ("bad.zip is not a zip archive: make a zip of the files",),
    )


@pytest.mark.parametrize("second", ["a.ZIP", "old/a.zip"])
def test_zips_of_nearly_the_same_name_are_both_looked_at(
    second: str, tmp_path: Path, folder: CourseFolder
) -> None:
    _put(tmp_path / "ada", {"a.zip": {FILE: None}, "old": {}})
    (tmp_path / "ada" / second).write_bytes(_zipped({FILE: None}, second))
    _, notes = _read(tmp_path / "ada", folder)
    assert len(notes) == 1
    assert f"a.zip/{FILE}" in notes[0]
    assert f"{second}/{FILE}" in notes[0]


def test_files_are_found_however_deep_they_lie(tmp_path: Path, folder: CourseFolder) -> None:
    deep: dict[str, Any] = {FILE: None}
    for level in range(60):
        deep = {f"level{level}": deep}
    _put(tmp_path / "ada", deep)
    assert _read(tmp_path / "ada", folder)[0].startswith("# level59/level58/")


def test_what_is_not_looked_at_is_told(tmp_path: Path, folder: CourseFolder) -> None:
    _put(tmp_path / "ada", {"work.zip": {FILE: None, "more.zip": {FILE: None}}, "x.rar": None})
    os.symlink(tmp_path, tmp_path / "ada" / "linked")
    assert set(_read(tmp_path / "ada", folder)[1]) == {
        "linked is a link, and was not looked at",
        "x.rar is an archive that is not read",
        "work.zip holds more.zip: an archive in an archive is not unpacked",
    }
