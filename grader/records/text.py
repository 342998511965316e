"""Text that is safe to show, sentences with their stops, and shapes as a student writes them."""

import hashlib
import re
from collections.abc import Mapping, Sequence

_STEM = 80  # characters
_INPUT = 120  # characters of an input that are shown
_STOPS = (".", "?", "!", "…")
_WHOLE = re.compile(r"\.0(?!\d)")  # what a whole number has behind it as a float
# in which a child runs, with the folders above it
_FOLDER = re.compile(r"(?:/[^\s/'\"]+)*/grade-[a-z0-9_]{8}(?:/(?:empty|tmp[a-z0-9_]{8}))?/?")


def printable(text: str) -> str:
    """Return a text in which each character that moves, restyles or turns text is a space."""
    if text.isprintable():  # as nearly every text is
        return text
    return "".join(c if c.isprintable() else " " for c in text)


def clean(text: str, limit: int) -> str:
    """Return a submission's text without control and bidirectional characters, cut to `limit`."""
    kept = " ".join(printable(text).split())
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def without_folder(text: str) -> str:
    """Return a text without the folder that a child runs in, whose name is another on each run."""
    return _FOLDER.sub(lambda found: "" if found[0].endswith("/") else ".", text)


def storable(name: str) -> str:
    """Return a file's name as text that can be written down; not every one is UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def file_stem(name: str) -> str:
    """Return the name of a file for somebody: plain, and different for different names."""
    plain = re.sub(r"[^A-Za-z0-9.-]+", "_", name).strip("._") or "student"
    if plain == name == name.lower() and len(plain) <= _STEM:
        return plain
    # no plain name has a tilde, so nobody's plain name is another's file
    return f"{plain[:_STEM]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def ended(sentence: str) -> str:
    """Return a sentence with one full stop, or with the other mark that it ends in."""
    return sentence if sentence.endswith(_STOPS) else f"{sentence}."


def as_step(hint: str) -> str:
    """Return a hint as what to do now: without its capital and its full stop."""
    return f"{hint[:1].lower()}{hint[1:].rstrip('.')}"


def as_arguments(values: Mapping[str, object]) -> str:
    """Return sizes and options as a call gives them: "b=2, norm_first=True"."""
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def as_inputs(inputs: Mapping[str, object] | None) -> str:
    """Return what stands behind a case that gives some inputs itself: "; step = 0"."""
    texts = {name: _WHOLE.sub("", str(values)) for name, values in (inputs or {}).items()}
    return "".join(
        f"; {name} = {text if len(text) <= _INPUT else f'{text[: _INPUT - 1]}…'}"
        for name, text in texts.items()
    )


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names as a list for a sentence, which is short."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def with_article(name: str) -> str:
    """Return a name with "a" before it, or "an" where it is spoken with a vowel."""
    return f"an {name}" if name[:1] in "AEIOUaeiou" or name == "ndarray" else f"a {name}"


def counted(number: int, thing: str) -> str:
    """Return a number of things, as "1 student" or "2 students"."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def shown_shape(shape: tuple[int, ...]) -> str:
    """Return a shape as a student writes it."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
