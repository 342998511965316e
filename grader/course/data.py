"""Reads the data files of a course: what stands in `data/` beside course.yml."""

from grader.course.load import CourseFolder
from grader.course.shipped import read_bundle_manifest, read_part
from grader.errors import CourseError
from grader.worker.data import DATA, DataFiles

DATA_FOLDER = DATA
_LARGEST_MIB = 32  # of all together: they are in memory wherever grading goes on


def read_data(folder: CourseFolder) -> DataFiles | None:
    """Return a course's data files, None where it has none.

    Raises CourseError where one cannot be read, was changed since the bundle was made, or is a
    link, and where they are too large together.
    """
    files = _shipped(folder) if folder.shipped else _own(folder)
    size = sum(map(len, files.values())) / 2**20
    if size > _LARGEST_MIB:
        raise CourseError(
            f"{folder.root / DATA} has {size:.0f} MiB, and {_LARGEST_MIB} are the most: make it "
            "smaller"
        )
    return DataFiles(files) if files else None


def data_parts(folder: CourseFolder) -> dict[str, bytes]:
    """Return a course's data files by their paths below the course; raises CourseError."""
    found = read_data(folder)
    return {f"{DATA}/{name}": content for name, content in found.files.items()} if found else {}


def parse_data(packed: bytes) -> DataFiles:
    """Read data files from one piece."""
    return DataFiles.parse(packed)


def _shipped(folder: CourseFolder) -> dict[str, bytes]:
    manifest = read_bundle_manifest(folder)
    names = [name for name in manifest.files if name.startswith(f"{DATA}/")]
    return {name.removeprefix(f"{DATA}/"): read_part(folder, manifest, name) for name in names}


def _own(folder: CourseFolder) -> dict[str, bytes]:
    place, files = folder.root / DATA, {}
    for path in sorted(place.rglob("*")):
        if path.is_symlink():
            raise CourseError(f"{path} is a link: put the file itself there")
        if path.is_file() and not path.name.startswith("."):
            try:
                files[path.relative_to(place).as_posix()] = path.read_bytes()
            except OSError as error:
                raise CourseError(f"{path} cannot be read: {error.strerror}") from None
    return files
