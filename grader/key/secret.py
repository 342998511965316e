"""The instructor's secret that the hidden cases are drawn from, kept outside every course."""

import secrets
import sys
from pathlib import Path

import platformdirs

from grader.course.load import CourseFolder
from grader.errors import InternalError
from grader.key.cache import PUBLIC_SECRET
from grader.plan.records import HIDDEN, PUBLIC


def hidden_secret(folder: CourseFolder) -> bytes:
    """Return the instructor's secret for a course, made on first use and kept out of the course."""
    name = "".join(c if c.isalnum() else "-" for c in folder.course.title.lower())
    path = platformdirs.user_data_path("grade") / "secrets" / f"{name}.secret"
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return _new_secret(path)
    except OSError as error:
        raise InternalError(f"the secret of the hidden cases, {path}: {error.strerror}") from None


def split_and_secret(folder: CourseFolder, *, hidden: bool) -> tuple[str, bytes]:
    """Return the split to grade on and what its cases are drawn from."""
    return (HIDDEN, hidden_secret(folder)) if hidden else (PUBLIC, PUBLIC_SECRET)


def _new_secret(path: Path) -> bytes:
    secret = secrets.token_bytes(32)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_bytes(secret)
    except OSError as error:
        raise InternalError(
            f"no secret for hidden cases can be kept in {path}: {error.strerror}"
        ) from None
    sys.stderr.write(f"grade: a new secret for the hidden cases is kept in {path}\n")
    return secret
