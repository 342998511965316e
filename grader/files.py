"""Writes files so that a stop at any moment leaves the old one or the new one."""

import os
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
