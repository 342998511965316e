"""The instructor's secret that the hidden cases are drawn from, kept outside every course.

Beside it lies a mark, by which it is noticed that a secret was lost or replaced: the hidden cases
are others then, and scores on them are not comparable with those of before.
"""

import contextlib
import hashlib
import os
import secrets
import sys
from pathlib import Path

import platformdirs

from grader.course.load import CourseFolder
from grader.errors import InternalError, UsageError
from grader.files import replace_file
from grader.key.cache import PUBLIC_SECRET
from grader.records.calls import HIDDEN, PUBLIC

_BYTES = 32
_LEAST_BYTES = 16  # fewer may be guessed


def hidden_secret(folder: CourseFolder) -> bytes:
    """Return the instructor's secret for a course, made on first use and kept out of the course.

    Raises UsageError where it is too short, or is not the one of before; InternalError where it
    cannot be read or kept.
    """
    name = "".join(c if c.isalnum() else "-" for c in folder.course.title.lower())
    path = platformdirs.user_data_path("grade") / "secrets" / f"{name}.secret"
    mark = path.with_suffix(".mark")
    try:
        before = mark.read_text(encoding="utf-8").strip() if mark.exists() else ""
        secret = _read(path) or _make(path, mark, before)
        if before and mark_of(secret) != before:
            raise UsageError(_other(path, mark, "is not the secret that was here before"))
        if not before:
            with contextlib.suppress(OSError):  # a secret that is kept where nothing can be written
                replace_file(mark, f"{mark_of(secret)}\n".encode())
    except OSError as error:
        raise InternalError(f"the secret of the hidden cases, {path}: {error.strerror}") from None
    return secret


def mark_of(secret: bytes) -> str:
    """Return what tells secrets apart and gives none away."""
    return hashlib.sha256(b"hidden cases\n" + secret).hexdigest()[:16]


def split_and_secret(folder: CourseFolder, *, hidden: bool) -> tuple[str, bytes]:
    """Return the split to grade on and what its cases are drawn from."""
    return (HIDDEN, hidden_secret(folder)) if hidden else (PUBLIC, PUBLIC_SECRET)


def _read(path: Path) -> bytes | None:
    """Return the secret, None where there is none; raises UsageError for one that is too short."""
    try:
        secret = path.read_bytes()
    except FileNotFoundError:
        return None
    if len(secret) < _LEAST_BYTES:
        raise UsageError(
            f"{path} holds {len(secret)} bytes, and a secret that nobody guesses has at least "
            f"{_LEAST_BYTES}: put it back from a backup, or remove it to have a new one made "
            "(the hidden cases are others then)"
        )
    return secret


def _make(path: Path, mark: Path, before: str) -> bytes:
    """Make the first secret; of several processes that do so, all return that of the fastest."""
    if before:
        raise UsageError(_other(path, mark, "is lost"))
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    ours = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        ours.touch(mode=0o600)
        ours.write_bytes(secrets.token_bytes(_BYTES))
        _put_whole(ours, path)
        sys.stderr.write(
            f"grade: a new secret for the hidden cases is kept in {path}: back it up\n"
        )
    except FileExistsError:
        pass
    finally:
        ours.unlink(missing_ok=True)
    return path.read_bytes()


def _put_whole(ours: Path, path: Path) -> None:
    """Let a file appear under a name that none has; raises FileExistsError where one has it."""
    try:
        os.link(ours, path)
    except FileExistsError:
        raise
    except OSError:  # a disk without links
        if path.exists():
            raise FileExistsError(path) from None
        os.replace(ours, path)


def _other(path: Path, mark: Path, what: str) -> str:
    return (
        f"{path} {what}, so the hidden cases would be others than those of earlier results: put it "
        f"back from a backup, or remove {mark} to go on with other cases and grade everyone anew"
    )
