"""Reading zips: what is asked for comes out, and every hostile archive is refused with a reason."""

import io
import os
import stat
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.errors import SubmissionError
from grader.handin.archive import Archive, ArchiveLimits, read_archive

FILE = "exercise1_attention.py"
TIGHT = ArchiveLimits(
    archive_bytes=1 << 20, entries=20, file_bytes=1 << 17, total_bytes=1 << 18, path_length=80
)


def zipped(
    *files: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return a zip of these files, in order."""
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", method) as archive:
        for name, data in files:
            archive.writestr(name, data, compress_type=method)
    return kept.getvalue()


def entry(name: str, mode: int) -> zipfile.ZipInfo:
    """Return an entry of a kind that a zip made on Unix can hold."""
    made = zipfile.ZipInfo(name)
    made.create_system = 3
    made.external_attr = mode << 16
    return made


def renamed(data: bytes, old: str, new: bytes) -> bytes:
    """Replace a name where zipfile would not write the new one."""
    assert len(old) == len(new)
    assert data.count(old.encode()) == 2
    return data.replace(old.encode(), new)


def test_archive_gives_the_sources_by_path() -> None:
    data = zipped(
        ("b/exercise2.ipynb", b"{}"),
        (FILE, b"import torch\n"),
        ("notes.txt", b"hello"),
        ("__MACOSX/._" + FILE, b"\0\5\26\7"),
        ("b/.ipynb_checkpoints/exercise2-checkpoint.ipynb", b"{}"),
    )
    assert read_archive(data) == Archive({"b/exercise2.ipynb": b"{}", FILE: b"import torch\n"})


def test_archive_of_a_windows_program_is_read() -> None:
    data = renamed(zipped((f"week1/{FILE}", b"1")), f"week1/{FILE}", f"week1\\{FILE}".encode())
    assert list(read_archive(data).files) == [f"week1/{FILE}"]


def test_archive_inside_another_is_told() -> None:
    outer = zipped(("Ann_12.zip", zipped((FILE, b"1"))), (FILE, b"2"), (".git/x.zip", b""))
    assert read_archive(outer) == Archive({FILE: b"2"}, ("Ann_12.zip",))


def test_archive_that_others_see_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ann.zip"
    path.write_bytes(zipped((FILE, b"1"), ("a/b.py", b"2")))
    read_archive(path)
    assert os.listdir(tmp_path) == ["ann.zip"]


def _encrypted() -> bytes:
    data = bytearray(zipped((FILE, b"1")))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    return bytes(data)


def _lying_size() -> bytes:
    """An entry that says that it is small, and unpacks to a lot."""
    data = bytearray(zipped((FILE, bytes(1 << 22))))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<L", data, data.index(mark) + offset, 100)
    return bytes(data)


def _many_in_the_directory() -> bytes:
    """A small zip whose directory repeats one entry, and whose end says that it is one."""
    data = zipped((FILE, b"1"))
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    directory = data[start:end] * 4000
    tail = bytearray(data[end:])
    struct.pack_into("<L", tail, 12, len(directory))
    return data[:start] + directory + bytes(tail)


def _flipped() -> bytes:
    data = bytearray(zipped((FILE, b"import torch\n" * 9)))
    data[len(FILE) + 36] ^= 0xFF
    return bytes(data)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "doubled name": (
        lambda: zipped((FILE, b"1"), (f"./{FILE}", b"2")),
        "two files with the same name",
    ),
    "no zip": (lambda: b"hello", "is not a zip archive: make a zip of the files"),
    "nothing": (lambda: b"", "is not a zip archive"),
    "cut": (lambda: zipped((FILE, b"1" * 999))[:-30], "is not a zip archive"),
    "flipped bits": (_flipped, "cannot be unpacked"),
    "parent folder": (lambda: zipped((f"../{FILE}", b"1")), "a place outside itself (../exer"),
    "hidden parent": (lambda: zipped((f"a/../../{FILE}", b"1")), "a place outside itself"),
    "absolute": (lambda: zipped((f"/tmp/{FILE}", b"1")), "a place outside itself (/tmp/exer"),
    "drive": (lambda: zipped((f"C:/{FILE}", b"1")), "a place outside itself (C:/exer"),
    "backslashes": (
        lambda: renamed(zipped((f"aaa{FILE}", b"1")), f"aaa{FILE}", f"..\\{FILE}".encode()),
        "a place outside itself (../exer",
    ),
    "escape of another file": (
        lambda: zipped((FILE, b"1"), ("../.bashrc", b"1")),
        "outside itself",
    ),
    "symbolic link": (
        lambda: zipped((entry(FILE, stat.S_IFLNK | 0o777), b"/etc/passwd")),
        f"holds {FILE}, which is a link: put the file itself into the zip",
    ),
    "pipe": (lambda: zipped((entry(FILE, stat.S_IFIFO | 0o600), b"")), "is not an ordinary file"),
    "device": (lambda: zipped((entry(FILE, stat.S_IFCHR | 0o600), b"")), "is not an ordinary file"),
    "case clash": (
        lambda: zipped((FILE, b"1"), (FILE.upper(), b"2")),
        f"holds two files with the same name ({FILE} and {FILE.upper()}): keep one",
    ),
    "unicode clash": (
        lambda: zipped(("\ufb01t.py", b"1"), ("fit.py", b"2")),
        "two files with the same name",
    ),
    "newline": (
        lambda: zipped((f"a\nb{FILE}", b"1")),
        f"a name with control characters (a b{FILE})",
    ),
    "terminal codes": (lambda: zipped((f"\x1b[2J{FILE}", b"1")), "name with control characters"),
    "right to left": (lambda: zipped((f"\u202e{FILE}", b"1")), "name with control characters"),
    "NUL": (
        lambda: renamed(zipped((f"a{FILE}b.py", b"1")), f"a{FILE}b.py", f"a{FILE}\0.py".encode()),
        "name with control characters",
    ),
    "long path": (lambda: zipped(("d/" * 60 + FILE, b"1")), "holds a path that is too long"),
    "encrypted": (_encrypted, "is encrypted: make the zip without a password"),
    "lzma": (lambda: zipped((FILE, b"1"), method=zipfile.ZIP_LZMA), "compressed in an unusual way"),
    "large file": (lambda: zipped((FILE, os.urandom(1 << 18))), "which is larger than 128 KiB"),
    "bomb": (lambda: zipped((FILE, bytes(1 << 17))), "unpacks to 200 times its size"),
    "lying size": (_lying_size, "cannot be unpacked"),
    "large sum": (
        lambda: zipped(*((f"{i}.py", os.urandom(100_000)) for i in range(3))),
        "unpacks to more than 256 KiB",
    ),
    "large zip": (lambda: zipped((FILE, os.urandom(1 << 21))), "is larger than 1024 KiB"),
    "many files": (lambda: zipped(*((f"{i}.txt", b"") for i in range(21))), "more than 20 files"),
    "many in the directory": (_many_in_the_directory, "more than 20 files"),
    "archive inside": (lambda: zipped(("all.zip", zipped((FILE, b"1")))), "an archive inside it"),
}


@pytest.mark.parametrize(("make", "said"), HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_archive_is_refused_in_one_sentence(
    make: Callable[[], bytes], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "ann.zip"
    path.write_bytes(make())
    with pytest.raises(SubmissionError) as caught:
        read_archive(path, TIGHT)
    text = str(caught.value)
    assert text.startswith("ann.zip ")
    assert said in text
    assert text.isprintable()
    assert len(text) < 300
    assert os.listdir(tmp_path) == ["ann.zip"]


def test_bomb_among_other_files_is_never_unpacked() -> None:
    data = zipped((FILE, b"1"), ("data.bin", bytes(1 << 26)))
    tracemalloc.start()
    archive = read_archive(data, TIGHT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert archive == Archive({FILE: b"1"})
    assert peak < 1 << 21


def test_large_directory_costs_no_memory() -> None:
    data = _many_in_the_directory()
    tracemalloc.start()
    with pytest.raises(SubmissionError):
        read_archive(data, TIGHT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20


def test_link_to_an_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real.zip").write_bytes(zipped((FILE, b"1")))
    (tmp_path / "ann.zip").symlink_to(tmp_path / "real.zip")
    with pytest.raises(SubmissionError, match=r"ann\.zip is a link, not a file"):
        read_archive(tmp_path / "ann.zip")


def test_archive_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ann.zip")
    with pytest.raises(SubmissionError, match=r"ann\.zip is not an ordinary file"):
        read_archive(tmp_path / "ann.zip")
