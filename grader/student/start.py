"""Makes a student's course folder from a bundle, puts its parts right again, and reads them."""

import io
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from grader.course.data import DATA_FOLDER
from grader.course.load import COURSE_FILE, CourseFolder, load_course
from grader.course.models import Exercise
from grader.course.shipped import (
    KEY_FOLDER,
    MANIFEST,
    STUBS,
    content_sum,
    parse_bundle_manifest,
    read_bundle_manifest,
    read_part,
    stub_name,
)
from grader.errors import CourseError, UsageError, writing
from grader.files import write_files

_LARGEST = 64 << 20  # bytes of a bundle's file, unpacked
_TOP = (COURSE_FILE, "README.md")
_COURSES_OWN = (f"{KEY_FOLDER}/", f"{DATA_FOLDER}/")


def packaged_bundle() -> Path:
    """Return where an installed grader carries its bundle; a source tree has none there."""
    return Path(__file__).resolve().parents[1] / "bundle.zip"


def start_course(
    into: Path,
    *,
    bundle: Path | None = None,
    notebooks: bool = False,
    renew: bool = False,
    on_built: Callable[[str], None] = lambda _: None,
) -> CourseFolder:
    """Make a course folder; `renew` writes only what is not the student's.

    `bundle` is a zip or folder, else the one that grader carries, else it is made from the source
    tree that grader runs from. Raises GraderError, and changes nothing then.
    """
    files = read_bundle(bundle) if bundle else _own_bundle(on_built)
    if renew:
        _check_same_course(into, files)
        kept = {n: d for n, d in files.items() if n == COURSE_FILE or n.startswith(_COURSES_OWN)}
        if not (into / "exercises").exists():  # all gone: begin anew, for nothing can be lost
            kept |= _exercises(files, notebooks=notebooks)
        _write(into, kept)
    else:
        if into.exists() and (not into.is_dir() or any(into.iterdir())):
            raise UsageError(f"{into} is there already; {_other_way(into)}")
        _make(into, _chosen(files, notebooks=notebooks))
    return load_course(into)


def _other_way(into: Path) -> str:
    if (into / MANIFEST).is_file():
        there = into.resolve() == Path.cwd()
        way = "go on with `grade list`" if there else f"go on in it with `cd {into}`"
        return f"{way}, or repair its course files with --renew"
    return "name a folder that does not exist yet"


def _chosen(files: Mapping[str, bytes], *, notebooks: bool) -> dict[str, bytes]:
    """The files of a new folder, with untouched exercises in the one form that was asked for.

    Only what a bundle has by its form is taken: a student's folder can serve as a bundle.
    """
    chosen = {n: d for n, d in files.items() if n in _TOP or n.startswith(_COURSES_OWN)}
    return chosen | _exercises(files, notebooks=notebooks)


def _exercises(files: Mapping[str, bytes], *, notebooks: bool) -> dict[str, bytes]:
    """The untouched exercises, in one form."""
    suffix = ".ipynb" if notebooks else ".py"
    stubs = {PurePosixPath(n): d for n, d in files.items() if n.startswith(f"{STUBS}/")}
    return {f"exercises/{path.name}": d for path, d in stubs.items() if path.suffix == suffix}


def _make(into: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder whole or not at all."""
    with writing(into):
        into.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{into.name}-", dir=into.parent))
        try:
            write_files(scratch, files)
            scratch.chmod(0o755)
            if into.is_dir():  # empty, and perhaps the working directory
                for part in scratch.iterdir():
                    part.rename(into / part.name)
            else:
                scratch.rename(into)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _write(into: Path, files: Mapping[str, bytes]) -> None:
    with writing(into):
        write_files(into, files)


def _check_same_course(into: Path, files: Mapping[str, bytes]) -> None:
    if not (into / KEY_FOLDER).is_dir() and not (into / COURSE_FILE).is_file():
        raise UsageError(
            f"{into} is no course that could be renewed: leave out --renew to make one"
        )
    new = parse_bundle_manifest(files[MANIFEST], MANIFEST).course
    try:
        old = parse_bundle_manifest((into / MANIFEST).read_bytes(), MANIFEST).course
    except (OSError, CourseError):
        return  # damaged, or an older one's: that is what renewing is for
    if old != new:
        raise UsageError(f"{into} is the course '{old}', not '{new}': give its own with --bundle")


def read_bundle(path: Path) -> dict[str, bytes]:
    """Return the files of a bundle, a zip or a folder; raises UsageError or CourseError."""
    try:
        files = _folder(path) if path.is_dir() else _unzipped(path.read_bytes(), path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    if MANIFEST not in files:
        raise UsageError(f"{path} is no course bundle: it has no {MANIFEST}")
    manifest = parse_bundle_manifest(files[MANIFEST], str(path / MANIFEST))
    for name, wanted in manifest.files.items():
        if name not in files or content_sum(name, files[name]) != wanted:
            raise CourseError(f"{path}: {name} is damaged or missing: get the bundle again")
    return files


def _folder(path: Path) -> dict[str, bytes]:
    found = [p for p in sorted(path.rglob("*")) if p.is_file()]
    return {p.relative_to(path).as_posix(): p.read_bytes() for p in found}


def _unzipped(data: bytes, path: Path) -> dict[str, bytes]:
    files = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                name = PurePosixPath(entry.filename)
                if entry.is_dir():
                    continue
                if name.is_absolute() or ".." in name.parts or entry.file_size > _LARGEST:
                    raise UsageError(f"{path} is no course bundle: it holds {entry.filename!r}")
                files[name.as_posix()] = archive.read(entry)
    except (zipfile.BadZipFile, EOFError, NotImplementedError):
        raise UsageError(f"{path} is no zip that can be read: get the bundle again") from None
    return files


def _own_bundle(on_built: Callable[[str], None]) -> dict[str, bytes]:
    """The bundle that grader carries, or one made from the source tree that it runs from."""
    carried = packaged_bundle()
    if carried.is_file():
        return read_bundle(carried)
    tree = carried.parent.parent
    if (tree / COURSE_FILE).is_file() and (tree / "solutions").is_dir():
        from grader.bundle.release import make_bundle

        return make_bundle(load_course(tree), on_built=on_built)
    raise UsageError(
        "this grader carries no course: give the bundle that you were given with --bundle FILE"
    )


def untouched_stub(folder: CourseFolder, exercise: Exercise) -> str:
    """Return the bundle's stub, or a source tree's; raises CourseError where it was changed."""
    if folder.shipped:
        name = stub_name(exercise.stem, notebook=False)
        return read_part(folder, read_bundle_manifest(folder), name).decode()
    try:
        return (folder.exercises / exercise.file).read_text(encoding="utf-8")
    except OSError:
        return ""
