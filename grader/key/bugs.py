"""What a key knows of bugs: what tells them, and the signatures of their answers."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import safetensors.numpy

from grader.compare.signature import Suspects
from grader.execute.answers import load_tensors


@dataclass(frozen=True)
class KnownBug:
    """A bug of the catalogue with its proofs: where it and the reference are far apart."""

    id: str
    target: str
    title: str
    when: str
    step: str
    lesson: str  # how the lesson's passage on it begins, "" where there is none
    hints: tuple[str, ...]
    proofs: tuple[str, ...]  # "output <call>", "grad <call>" or "check <check id>", one a variant
    margin64: float | None  # least distance of a variant in float64 tolerances, None where no value
    margin32: float | None

    @property
    def key(self) -> str:
        """Identifies the bug in its exercise."""
        return f"{self.target}/{self.id}"

    @property
    def shown_by_values(self) -> bool:
        """Whether it has a check of its own; what another check shows costs only there."""
        return self.margin64 is not None


@dataclass(frozen=True)
class BugBook:
    """The known bugs of one exercise on one split."""

    bugs: tuple[KnownBug, ...] = ()

    def checked(self, target: str) -> list[KnownBug]:
        """Return the bugs of a target's own code that have a check of their own."""
        return [bug for bug in self.bugs if bug.target == target and bug.shown_by_values]

    def by_key(self, key: str) -> KnownBug:
        """Return the bug "target/id"; raises KeyError."""
        return {bug.key: bug for bug in self.bugs}[key]


def bugs_to_json(book: BugBook) -> list[dict[str, object]]:
    """Return plain data that `bugs_from_json` reads back."""
    return [asdict(bug) for bug in book.bugs]


def bugs_from_json(data: Sequence[dict[str, object]]) -> BugBook:
    """Rebuild a book; raises TypeError for data of another form."""
    rows = []
    for entry in data:
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
        rows.append(KnownBug(**fields))  # type: ignore[arg-type]
    return BugBook(tuple(rows))


def pack_suspects(suspects: dict[str, Suspects]) -> bytes:
    """Return the suspects of all targets as safetensors bytes."""
    if not suspects:
        return b""  # safetensors has no empty file
    tensors = {}
    names = {}
    for target, rows in suspects.items():
        names[target] = json.dumps(rows.names)
        for part in ("codes", "values", "failing"):
            tensors[f"{target}/{part}"] = getattr(rows, part)
    return bytes(safetensors.numpy.save(tensors, metadata=names))


def unpack_suspects(data: bytes) -> dict[str, Suspects]:
    """Read suspects back; raises Violation or ValueError for damage."""
    if not data:
        return {}
    tensors = load_tensors(data)
    length = int.from_bytes(data[:8], "little")
    names = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    return {
        target: Suspects(
            tuple(tuple(row) for row in json.loads(rows)),
            tensors[f"{target}/codes"],
            tensors[f"{target}/values"],
            tensors[f"{target}/failing"],
        )
        for target, rows in sorted(names.items())  # the format keeps no order of its own
    }
