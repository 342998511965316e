"""Reads the source files of a zip in memory; nothing of it is ever written to a disk.

What a header says is only believed where believing it can cost nothing: bytes are counted as they
come out of the decompressor. Files that nobody asked for are never unpacked, so a bomb among
them does nothing.
"""

import io
import re
import stat
import struct
import unicodedata
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import SubmissionError
from grader.handin.files import is_hidden, is_litter, read_regular
from grader.handin.pick import SUFFIXES
from grader.handin.refused import Refused
from grader.records.text import clean

ZIP = ".zip"
OTHER_ARCHIVES = (".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")  # not read
ARCHIVES = (ZIP, *OTHER_ARCHIVES)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others unpack without a bound
_ENCRYPTED = 1 | 1 << 6 | 1 << 13
_END = b"PK\x05\x06"
_END_64 = b"PK\x06\x07"
_END_RECORD = struct.Struct("<4s4H2LH")
_ENTRY_ROOM = 512  # bytes of the directory that an entry may take on average
_CHUNK = 1 << 16
_SLACK = 1 << 16  # bytes that a file may unpack to whatever its ratio
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True)
class ArchiveLimits:
    """What is still read of an archive."""

    archive_bytes: int = 64 << 20  # of the zip itself
    entries: int = 4000  # files and folders, of any kind
    file_bytes: int = 2 << 20  # of each file, unpacked
    total_bytes: int = 32 << 20  # of all files that are read, unpacked
    ratio: int = 200  # unpacked to packed; text reaches about 20
    path_length: int = 400  # characters


@dataclass(frozen=True)
class Archive:
    """The files of a zip that were asked for."""

    files: Mapping[str, bytes]  # by relative path with forward slashes, in order of the path
    nested: tuple[str, ...] = ()  # paths of archives in it, which are not unpacked


def read_archive(source: Path | bytes, limits: ArchiveLimits = ArchiveLimits()) -> Archive:
    """Read the sources in a zip, given by its path or as bytes; raises SubmissionError."""
    name = source.name if isinstance(source, Path) else "the archive"
    try:
        data = _data_of(source, limits)
        _check_directory(data, limits)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _read(archive, limits)
    except Refused as refused:
        raise _refusal(name, str(refused), refused.next_step) from None
    except Exception as error:  # noqa: BLE001 - hostile bytes; zipfile raises many kinds
        what = f"cannot be unpacked ({type(error).__name__})"
        raise _refusal(name, what, "make the zip again") from None


def _refusal(name: str, what: str, next_step: str) -> SubmissionError:
    return SubmissionError(f"{clean(name, 80)} {what}: {next_step}")


def _data_of(source: Path | bytes, limits: ArchiveLimits) -> bytes:
    if isinstance(source, Path):
        return read_regular(source, limits.archive_bytes)
    if len(source) > limits.archive_bytes:
        kib = limits.archive_bytes // 1024
        raise Refused(f"is larger than {kib} KiB", "hand in only the code")
    return source


def _check_directory(data: bytes, limits: ArchiveLimits) -> None:
    """Refuse a directory that is too large before zipfile makes objects of all its entries."""
    end = data.rfind(_END, max(0, len(data) - _END_RECORD.size - (1 << 16)))
    if end < 0 or len(data) < end + _END_RECORD.size:
        raise Refused("is not a zip archive", "make a zip of the files")
    _, _, _, _, entries, size, _, _ = _END_RECORD.unpack_from(data, end)
    wide = data[max(0, end - 20) :].startswith(_END_64)
    if wide or entries > limits.entries or size > limits.entries * _ENTRY_ROOM:
        raise _crowded(limits)


def _crowded(limits: ArchiveLimits) -> Refused:
    return Refused(f"holds more than {limits.entries} files", "hand in only the code")


def _read(archive: zipfile.ZipFile, limits: ArchiveLimits) -> Archive:
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(archive.infolist()) > limits.entries:
        raise _crowded(limits)
    paths = [(path, e) for e in entries if not _is_nobodys(path := _path_of(e))]
    wanted = {path: entry for path, entry in paths if path.lower().endswith(SUFFIXES)}
    _refuse_clashes([path for path, _ in paths if path in wanted])
    nested = tuple(path for path, _ in paths if path.lower().endswith(ARCHIVES))
    if nested and not wanted:
        raise Refused("holds an archive inside it", "put the files themselves into the zip")
    files: dict[str, bytes] = {}
    left = limits.total_bytes
    for path in sorted(wanted):
        _refuse_odd(path, wanted[path], limits)
        files[path] = _unpack(archive, path, wanted[path], limits, left)
        left -= len(files[path])
    return Archive(files, nested)


def _path_of(entry: zipfile.ZipInfo) -> str:
    """Return an entry's path as text; an escape from the archive's folder is refused."""
    path = entry.orig_filename.replace("\\", "/")  # some programs on Windows write these
    parts = path.split("/")
    if path.startswith("/") or _DRIVE.match(path) or ".." in parts:
        raise Refused(f"names a place outside itself ({clean(path, 80)})", "make the zip again")
    return "/".join(part for part in parts if part not in ("", "."))


def _is_nobodys(path: str) -> bool:
    """Whether a path is an editor's or a system's own copy, such as __MACOSX/._exercise1.py."""
    return any(is_hidden(part) or is_litter(part) for part in path.split("/"))


def _refuse_clashes(paths: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for path in paths:
        folded = unicodedata.normalize("NFKC", path).casefold()
        if folded in seen:
            names = f"{clean(seen[folded], 80)} and {clean(path, 80)}"
            raise Refused(f"holds two files with the same name ({names})", "keep one of them")
        seen[folded] = path


def _refuse_odd(path: str, entry: zipfile.ZipInfo, limits: ArchiveLimits) -> None:
    """Refuse an entry that is not an ordinary file with a plain name."""
    shown = clean(path, 80)
    mode = entry.external_attr >> 16
    if not path.isprintable():
        what, then = f"holds a name with control characters ({shown})", "rename the file"
    elif len(path) > limits.path_length:
        what, then = f"holds a path that is too long ({shown})", "use shorter names"
    elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        kind = "a link" if stat.S_ISLNK(mode) else "not an ordinary file"
        what, then = f"holds {shown}, which is {kind}", "put the file itself into the zip"
    elif entry.flag_bits & _ENCRYPTED:
        what, then = "is encrypted", "make the zip without a password"
    elif entry.compress_type not in _METHODS:
        what, then = f"holds {shown}, compressed in an unusual way", "make an ordinary zip"
    else:
        return
    raise Refused(what, then)


def _unpack(
    archive: zipfile.ZipFile,
    path: str,
    entry: zipfile.ZipInfo,
    limits: ArchiveLimits,
    left: int,
) -> bytes:
    """Unpack one file, counting what really comes out."""
    data = bytearray()
    most = max(_SLACK, entry.compress_size * limits.ratio)
    with archive.open(entry) as unpacked:
        while chunk := unpacked.read(_CHUNK):
            data += chunk
            shown = clean(path, 80)
            if len(data) > limits.file_bytes:
                what = f"holds {shown}, which is larger than {limits.file_bytes // 1024} KiB"
                raise Refused(what, "hand in only the code")
            if len(data) > left:
                what = f"unpacks to more than {limits.total_bytes // 1024} KiB"
                raise Refused(what, "hand in only the code")
            if len(data) > most:
                what = f"holds {shown}, which unpacks to {limits.ratio} times its size"
                raise Refused(what, "hand in only the code")
    return bytes(data)
