"""Frames between the parent and a child: a JSON header and a safetensors payload.

    4 bytes header length | 4 bytes payload length | header | payload      (little endian)

Only plain data crosses; the reader checks both lengths against its caps before it reads on.
"""

import json
import os
import struct
from dataclasses import dataclass
from typing import Any

PREFIX = struct.Struct("<II")


class Violation(Exception):
    """The other side sent what no honest harness sends."""


@dataclass(frozen=True)
class Frame:
    """What was sent at once."""

    header: dict[str, Any]  # JSON that nobody has checked
    payload: bytes


def pack(header: str, payload: bytes = b"") -> bytes:
    """Return one frame; `header` is JSON."""
    data = header.encode()
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


def read_frame(fd: int) -> Frame | None:
    """Read one frame from a trusted writer, blocking; None where the stream ended."""
    prefix = _read_exactly(fd, PREFIX.size)
    if len(prefix) < PREFIX.size:
        return None
    header_length, payload_length = PREFIX.unpack(prefix)
    header = parse_header(_read_exactly(fd, header_length))
    return Frame(header, _read_exactly(fd, payload_length))


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
