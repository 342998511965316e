"""Frames between the parent and a child: a JSON header and a safetensors payload.

    4 bytes header length | 4 bytes payload length | header | payload      (little endian)

Only plain data crosses; the reader checks both lengths against its caps before it reads on.
"""

import json
import os
import struct
from collections.abc import Sequence
from typing import Any

PREFIX = struct.Struct("<II")


class Violation(Exception):
    """The other side sent what no honest harness sends."""


def pack(header: dict[str, Any], payload: bytes = b"", calls: Sequence[str] | None = None) -> bytes:
    """Return one frame; `calls`, each JSON already, join the header as a list."""
    text = json.dumps(header, allow_nan=False, separators=(",", ":"))
    if calls is not None:
        text = f'{text[:-1]},"calls":[{",".join(calls)}]}}'
    data = text.encode()
    return PREFIX.pack(len(data), len(payload)) + data + payload


def parse_header(text: bytes) -> dict[str, Any]:
    """Read a frame's header; raises Violation for anything but a JSON object."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise Violation("a header that is not JSON") from None
    if not isinstance(header, dict):
        raise Violation("a header that is no object")
    return header


def read_frame(fd: int) -> tuple[dict[str, Any], bytes] | None:
    """Read one frame from a trusted writer, blocking; None where the stream ended."""
    prefix = _read_exactly(fd, PREFIX.size)
    if len(prefix) < PREFIX.size:
        return None
    header_length, payload_length = PREFIX.unpack(prefix)
    return parse_header(_read_exactly(fd, header_length)), _read_exactly(fd, payload_length)


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, blocking."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _read_exactly(fd: int, count: int) -> bytes:
    parts = []
    while count:
        part = os.read(fd, min(count, 1 << 20))
        if not part:
            break
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
