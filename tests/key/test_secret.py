"""The secret of the hidden cases: made once, hard to guess, and never replaced in silence."""

import os
import secrets
from pathlib import Path

import pytest
from small import small_course

from grader.batch.results import About, Results
from grader.course.load import CourseFolder
from grader.errors import UsageError
from grader.key.secret import hidden_secret, mark_of

_REFERENCE = "def double(x):\n    return x * 2\n"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CourseFolder:
    """Make a course, and a user who has no secret yet."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "course").mkdir()
    return small_course(tmp_path / "course", "double", _REFERENCE, "{kind: dtype}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name the file that the course's secret is kept in."""
    return tmp_path / "data" / "grade" / "secrets" / "a-small-course.secret"


def said(course: CourseFolder) -> str:
    """Return why there is no secret, in one line."""
    with pytest.raises(UsageError) as caught:
        hidden_secret(course)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_secret_is_made_once_and_never_shown(
    course: CourseFolder, path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = hidden_secret(course)
    assert (len(made), hidden_secret(course), path.read_bytes()) == (32, made, made)
    assert path.stat().st_mode & 0o077 == 0
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)  # the second run says nothing
    assert f"kept in {path}: back it up" in err
    assert made.hex() not in err


@pytest.mark.parametrize("content", [b"", b"\n", b"tooshort", b"x" * 15])
def test_a_short_secret_is_refused(course: CourseFolder, path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    line = said(course)
    assert f"{path} holds {len(content)} bytes" in line
    assert "put it back from a backup, or remove it" in line
    assert path.read_bytes() == content


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_of_two_first_runs_both_use_the_secret_of_the_faster(
    course: CourseFolder,
    path: Path,
    links: bool,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def overtaken(size: int) -> bytes:
        path.write_bytes(b"f" * 32)  # another process was faster
        return b"s" * size

    def no_link(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(secrets, "token_bytes", overtaken)
    if not links:
        monkeypatch.setattr(os, "link", no_link)
    assert hidden_secret(course) == path.read_bytes() == b"f" * 32
    assert capfd.readouterr().err == ""
    assert {entry.suffix for entry in path.parent.iterdir()} == {".secret", ".mark"}


def test_a_secret_is_made_on_a_disk_without_links(
    course: CourseFolder, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", no_link)
    assert hidden_secret(course) == path.read_bytes()


def test_a_lost_secret_is_told_with_what_to_do(course: CourseFolder, path: Path) -> None:
    made = hidden_secret(course)
    path.unlink()
    line = said(course)
    assert f"{path} is lost, so the hidden cases would be others" in line
    assert "put it back from a backup, or remove" in line
    path.write_bytes(made)
    assert hidden_secret(course) == made


def test_a_replaced_secret_is_told(course: CourseFolder, path: Path) -> None:
    hidden_secret(course)
    path.write_bytes(b"another secret of some length")
    line = said(course)
    assert "is not the secret that was here before" in line
    assert "another secret of" not in line


def test_a_new_secret_is_used_once_the_mark_of_the_old_is_removed(
    course: CourseFolder, path: Path
) -> None:
    made = hidden_secret(course)
    path.unlink()
    path.with_suffix(".mark").unlink()
    assert hidden_secret(course) == path.read_bytes() != made


def test_a_secret_without_a_mark_is_trusted_and_marked(course: CourseFolder, path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x" * 32)
    assert hidden_secret(course) == b"x" * 32
    assert path.with_suffix(".mark").read_text(encoding="utf-8") == f"{mark_of(b'x' * 32)}\n"


def test_results_on_the_cases_of_another_secret_are_not_mixed(tmp_path: Path) -> None:
    one, two = (About("A course", "hidden", secret) for secret in ("one", "two"))
    Results(tmp_path / "results", one).close()
    Results(tmp_path / "results", one).close()
    with pytest.raises(UsageError, match=r"hidden cases of another secret: .*name another folder"):
        Results(tmp_path / "results", two)
