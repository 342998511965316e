"""A course as students get it: its files with their checksums, and the stand-ins, sealed.

- course.yml: the public part of the course
- exercises/, notebooks/: the stubs, for the student to fill in
- key/manifest.json: what this is, made by which grader, and a checksum of each file
- key/standins.json: earlier exercises, for grading later ones
- key/questions/: what can be guessed and tried, where the course has questions
- key/stubs/: the stubs and notebooks once more, for `grade reset`
- key/*.public.*: the answer key, with no source of a solution or of a known bug
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from grader.course.derive import read_solution
from grader.course.load import COURSE_FILE, MANIFEST_FILE, CourseFolder, renewal
from grader.course.models import Exercise
from grader.errors import CourseError
from grader.version import VERSION

FORMAT_VERSION = 5  # of the bundle; a change that older or newer graders misread raises it
KEY_FOLDER = "key"
MANIFEST = MANIFEST_FILE
STANDINS = f"{KEY_FOLDER}/standins.json"
STUBS = f"{KEY_FOLDER}/stubs"


class BundleManifest(BaseModel):
    """What a bundle says of itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: int
    course: str  # the title
    grader: str  # the version that made it
    key: str  # "sha256:..." of all that the answer key depends on
    files: dict[str, str]  # path below the course -> SHA-256 of the content


def content_sum(name: str, data: bytes) -> str:
    """Return a file's checksum; line ends of texts do not count, for editors change them."""
    if name.endswith((".yml", ".json", ".py", ".md", ".ipynb", ".sha256")):
        data = data.replace(b"\r\n", b"\n")
    return hashlib.sha256(data).hexdigest()


def parse_bundle_manifest(data: bytes, where: str) -> BundleManifest:
    """Read a manifest; raises CourseError where it is damaged, or another version's."""
    root = Path(where).parent.parent
    try:
        fields = json.loads(data)
        version = fields["format_version"]
        if version == FORMAT_VERSION:
            return BundleManifest.model_validate(fields)
    except (ValueError, KeyError, TypeError, ValidationError):
        raise CourseError(f"{where} was changed or cut short; {renewal(root)}") from None
    made = str(fields.get("grader", "another version"))[:20]
    if isinstance(version, int) and version < FORMAT_VERSION:
        raise CourseError(
            f"{where}: the course was made by grader {made}, and this newer one, {VERSION}, "
            f"no longer reads it; {renewal(root)}"
        )
    raise CourseError(
        f"{where}: the course was made by grader {made}, and this is {VERSION}: "
        "install a newer one with pip install --upgrade grader"
    )


def read_bundle_manifest(folder: CourseFolder) -> BundleManifest:
    """Return the manifest of a course that was started from a bundle; raises CourseError."""
    path = folder.root / MANIFEST
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}") from None
    return parse_bundle_manifest(data, str(path))


def read_part(folder: CourseFolder, manifest: BundleManifest, name: str) -> bytes:
    """Return one file of the course; raises CourseError where it is missing or was changed."""
    path = folder.root / name
    try:
        data = path.read_bytes()
    except OSError:
        raise CourseError(f"{path} is missing; {renewal(folder.root)}") from None
    if content_sum(name, data) != manifest.files.get(name):
        raise CourseError(f"{path} was changed; {renewal(folder.root)}")
    return data


def check_parts(folder: CourseFolder, manifest: BundleManifest, exercises: Iterable[str]) -> None:
    """Check course.yml and the keys of some exercises; raises CourseError for the first fault."""
    starts = tuple(f"{KEY_FOLDER}/{exercise}." for exercise in exercises)
    for name in manifest.files:
        if name == COURSE_FILE or name.startswith(starts):
            read_part(folder, manifest, name)


def read_standins(folder: CourseFolder) -> dict[str, str]:
    """Return the sources of stand-ins by file stem, from solutions or from a bundle."""
    if not folder.shipped:
        paths = sorted(folder.standins.glob("*.py"))
        return {path.stem: path.read_text(encoding="utf-8") for path in paths}
    return unseal(read_part(folder, read_bundle_manifest(folder), STANDINS))


def seal(sources: Mapping[str, str]) -> bytes:
    """Return sources compressed, so that nobody reads them by accident; they are no secret."""
    packed = zlib.compress(json.dumps(dict(sources), sort_keys=True).encode(), 9)
    return json.dumps({"standins": base64.b85encode(packed).decode()}).encode()


def unseal(data: bytes) -> dict[str, str]:
    """Read `seal`'s bytes back."""
    packed = json.loads(data)["standins"]
    sources: dict[str, str] = json.loads(zlib.decompress(base64.b85decode(packed)))
    return sources


def stub_name(stem: str, *, notebook: bool) -> str:
    """Return where a bundle keeps the untouched stub of an exercise."""
    return f"{STUBS}/{stem}.{'ipynb' if notebook else 'py'}"


def solution_name(exercise: Exercise) -> str:
    """Return where a bundle has the solution of an exercise, once it is released."""
    return f"{KEY_FOLDER}/solutions/{exercise.file}"


def released_solution(folder: CourseFolder, exercise: Exercise) -> str | None:
    """Return the solution that came with a course, None where none did.

    The course's own sources have them all. Raises CourseError where the file was changed.
    """
    if not folder.shipped:
        return read_solution(folder.solutions / exercise.file)
    manifest, name = read_bundle_manifest(folder), solution_name(exercise)
    return read_part(folder, manifest, name).decode() if name in manifest.files else None
