"""The parent's end of a child's pipes: frames with deadlines and caps, output with a cap."""

import contextlib
import os
import selectors
import socket
import time

from grader.execute.child import Child, End
from grader.worker.wire import PREFIX, Frame, Violation, parse_header

_CHUNK = 1 << 16  # bytes read at once
_WRITTEN = 1 << 20  # bytes written at once, where so many go into the pipe
_HEADER_CAP = 1 << 18
_OUTPUT_FACTOR = 64  # printed output may be this many times what is kept, then the child ends


class Closed(Exception):
    """The child closed its answers: it crashed or left."""


class Late(Exception):
    """The deadline passed."""


class Flood(Violation):
    """The child printed without end."""


class Channel:
    """Writes jobs to a child, reads its frames, and keeps the first of what it prints."""

    def __init__(self, child: Child, *, payload_cap: int, output_cap: int) -> None:
        """Caps are in bytes."""
        self.child = child
        self.payload_cap = payload_cap
        self.output_cap = output_cap
        self.output = b""
        self._printed = 0
        self._received = bytearray()
        self._pending = memoryview(b"")
        self._selector = selectors.DefaultSelector()
        for end in (child.job, child.answers, child.output):
            end.setblocking(False) if isinstance(end, socket.socket) else os.set_blocking(
                end, False
            )
        self._selector.register(child.answers, selectors.EVENT_READ)
        self._selector.register(child.output, selectors.EVENT_READ)

    def send(self, data: bytes) -> None:
        """Queue bytes for the child; they leave while a frame is awaited."""
        self._pending = memoryview(bytes(self._pending) + data)
        self._watch_job()

    def receive(self, deadline: float) -> Frame:
        """Return the next frame; raises Late, Closed or Violation.

        `deadline` is in time.monotonic's seconds; partial reads do not move it.
        """
        while True:
            frame = self._complete_frame()
            if frame is not None:
                return frame
            left = deadline - time.monotonic()
            if left <= 0:
                raise Late
            for key, _ in self._selector.select(left):
                self._serve(key.fileobj)

    def drain(self) -> None:
        """Take what was printed until now."""
        if self.child.output in self._selector.get_map():
            with contextlib.suppress(Violation):  # what is kept does not change
                self._read_output()

    @property
    def quiet(self) -> bool:
        """Whether it has printed nothing, ended nothing, and sent nothing that nobody awaits."""
        return not (self.output or self._received or self._selector.select(0))

    def close(self) -> None:
        """Forget the descriptors."""
        self._selector.close()

    def _serve(self, end: object) -> None:
        if end == self.child.job:
            self._write_job()
        elif end == self.child.output:
            self._read_output()
        else:
            self._read_answers()

    def _complete_frame(self) -> Frame | None:
        if len(self._received) < PREFIX.size:
            return None
        header_length, payload_length = PREFIX.unpack_from(self._received)
        if header_length > _HEADER_CAP or payload_length > self.payload_cap:
            raise Violation("an answer larger than asked for")
        start, end = PREFIX.size + header_length, PREFIX.size + header_length + payload_length
        if len(self._received) < end:
            return None
        header = parse_header(bytes(self._received[PREFIX.size : start]))
        payload = bytes(self._received[start:end])
        del self._received[:end]
        return Frame(header, payload)

    def _read_answers(self) -> None:
        data = _read(self.child.answers)
        if not data:
            raise Closed
        self._received += data

    def _read_output(self) -> None:
        try:
            data = _read(self.child.output)
        except BlockingIOError:
            return
        if not data:
            self._selector.unregister(self.child.output)
        self._printed += len(data)
        self.output += data[: max(0, self.output_cap - len(self.output))]
        if self._printed > self.output_cap * _OUTPUT_FACTOR:
            raise Flood("it printed without end")

    def _write_job(self) -> None:
        try:
            count = _write(self.child.job, self._pending[:_WRITTEN])
        except BlockingIOError:
            return
        except (BrokenPipeError, ConnectionError):
            count = len(self._pending)  # its answers will tell that it is gone
        self._pending = self._pending[count:]
        self._watch_job()

    def _watch_job(self) -> None:
        watched = self.child.job in self._selector.get_map()
        if self._pending and not watched:
            self._selector.register(self.child.job, selectors.EVENT_WRITE)
        elif watched and not self._pending:
            self._selector.unregister(self.child.job)


def _read(end: End) -> bytes:
    return end.recv(_CHUNK) if isinstance(end, socket.socket) else os.read(end, _CHUNK)


def _write(end: End, data: memoryview) -> int:
    return end.send(data) if isinstance(end, socket.socket) else os.write(end, data)
