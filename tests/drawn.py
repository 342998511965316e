"""What a real browser draws of a page: its colours, read from a PNG."""

import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np

_Row = np.ndarray[tuple[Any, ...], np.dtype[np.uint8]]  # of a picture, as bytes


def screenshot(browser: str, folder: Path, page: str, size: str) -> bytes:
    """Return a picture of a page in a folder, in which the browser may leave its files."""
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--user-data-dir={folder / 'profile'}", f"--window-size={size}",
            "--force-device-scale-factor=1", "--virtual-time-budget=1000",
            f"--screenshot={folder / 'page.png'}", (folder / page).as_uri(),
        ],
        capture_output=True,
        timeout=120,  # a net for hangs
        check=False,
    )  # fmt: skip
    assert (folder / "page.png").is_file(), done.stderr.decode(errors="replace")[-2000:]
    return (folder / "page.png").read_bytes()


def colours(data: bytes) -> set[tuple[int, int, int]]:
    """Return the colours of a PNG of 8 bits a channel."""
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert depth == 8
    step = {2: 3, 6: 4}[kind]
    packed, at = b"", 8
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at : at + 8])
        packed += data[at + 8 : at + 8 + size] if name == b"IDAT" else b""
        at += 12 + size
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * step)
    above = np.zeros(width * step, np.uint8)
    seen: set[tuple[int, int, int]] = set()
    for filter_, line in zip(rows[:, 0], rows[:, 1:], strict=True):
        above = _unfiltered(int(filter_), line, above, step)
        pixels = np.unique(above.reshape(width, step)[:, :3], axis=0)
        seen |= {tuple(int(c) for c in pixel) for pixel in pixels}  # type: ignore[misc]
    return seen


def _unfiltered(kind: int, line: _Row, above: _Row, step: int) -> _Row:
    """Undo one of PNG's five row filters."""
    if kind == 0:
        return line.copy()
    if kind == 2:
        return line + above
    out = np.zeros(len(line), np.int64)
    up = above.astype(np.int64)
    for i, value in enumerate(line.tolist()):
        left = int(out[i - step]) if i >= step else 0
        corner = int(up[i - step]) if i >= step else 0
        over = int(up[i])
        near = {1: left, 3: (left + over) // 2}.get(kind)
        if near is None:  # Paeth's predictor
            guess = left + over - corner
            near = min((left, over, corner), key=lambda v: abs(guess - v))
        out[i] = (value + near) % 256
    return out.astype(np.uint8)
