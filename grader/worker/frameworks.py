"""Which frameworks a course can be written in: what can be said of each without importing it.

What a framework does otherwise than others stands in a module of its own, which `importing` finds.
"""

import importlib.util
import json
import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

_BACKEND, _HOME = "KERAS_BACKEND", "KERAS_HOME"  # variables of Keras' own


class FrameworkName(StrEnum):
    """In whose terms an exercise is written."""

    TORCH = "torch"
    KERAS = "keras"  # on torch as its backend: a layer of Keras' is a module of torch's there

    @property
    def libraries(self) -> tuple[str, ...]:
        """What has to be installed for it, the answer key's numbers depend on their versions."""
        return {FrameworkName.TORCH: ("torch",), FrameworkName.KERAS: ("torch", "keras")}[self]

    @property
    def void(self) -> frozenset[str]:
        """The kinds of properties that mean nothing in it: Keras itself moves tensors."""
        return frozenset({"device"} if self is FrameworkName.KERAS else ())

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which code runs outside of grading as it does here."""
        return {_BACKEND: "torch"} if self is FrameworkName.KERAS else {}

    @property
    def missing(self) -> str:
        """What to do where it is not installed, "" where it is."""
        lacking = [name for name in self.libraries if importlib.util.find_spec(name) is None]
        named = f"this course is written in {self.title()}, which is not installed"
        return f"{named}: pip install 'grader[{self}]'" if lacking else ""

    @property
    def unheard(self) -> str:
        """A setting of the user's that does not count while grading, in a sentence; else ""."""
        return _other_backend(os.environ) if self is FrameworkName.KERAS else ""


def _other_backend(environment: Mapping[str, str]) -> str:
    """Say where the user has chosen another backend of Keras' than the one that grades."""
    home = environment.get(_HOME)
    file = (Path(home) if home else Path.home() / ".keras") / "keras.json"
    try:
        kept = str(json.loads(file.read_text(encoding="utf-8")).get("backend", ""))
    except (OSError, ValueError, AttributeError, RuntimeError):
        kept = ""
    named = environment.get(_BACKEND)
    where, chosen = (_BACKEND, named) if named else (str(file), kept)
    # Keras writes the file by itself, with a backend that need not be installed
    another = chosen.isidentifier() and chosen != "torch"
    if not another or importlib.util.find_spec(chosen) is None:
        return ""
    return f"Keras runs on torch while grading: the backend {chosen!r} of {where} does not count"
