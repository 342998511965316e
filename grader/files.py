"""Writes files so that a stop at any moment leaves the old one or the new one."""

import io
import os
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path

_EPOCH = (1980, 1, 1, 0, 0, 0)  # zip's first moment: the same content makes the same bytes


def replace_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_files(root: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder, each whole or not at all; raises OSError."""
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)


def zipped(files: Mapping[str, bytes], *, programs: Collection[str] = ()) -> bytes:
    """Return a zip of some files, of which some can be run; the same files make the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name in programs else 0o644) << 16
            archive.writestr(entry, data)
    return buffer.getvalue()
