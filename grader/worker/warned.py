"""Tells what Python and torch warn of, with the line of the submission that it is about."""

import re
import sys
import warnings
from types import FrameType

_INTERNAL = re.compile(r" \(Triggered internally at [^)]*\)")  # a place in torch's own source


def tell_warnings(labels: frozenset[str]) -> None:
    """Let warnings name the innermost line of these files, and no line of ours."""

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - what `inspect` does, faster
        while frame is not None and frame.f_code.co_filename not in labels:
            frame = frame.f_back
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}: " if frame else ""
        text = _INTERNAL.sub("", str(message))
        print(f"{where}{category.__name__}: {text}", file=sys.stderr)

    warnings.showwarning = show
