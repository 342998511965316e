"""Keeps answer keys on disk, by content: four files an exercise and split.

exercise3.public.json                cases, calls, and the headers of the reference's answers
exercise3.public.cases.safetensors   inputs and parameter values; all that a worker gets
exercise3.public.key.safetensors     what the reference returned
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import safetensors.numpy

from grader.files import replace_file
from grader.records.answers import Answer, header_of, load_tensors, parse_answer
from grader.records.calls import Array, Call, DrawnCase, Plan
from grader.records.ids import CheckId
from grader.records.key import AnswerKey, BugBook, CheckProof, KnownBug, Proof, ValueProof, Way
from grader.records.signatures import Suspects
from grader.worker.names import Group
from grader.worker.protocol import to_json
from grader.worker.wire import Violation

_PARTS = ("json", "cases.safetensors", "key.safetensors", "bugs.safetensors")
PAIRS = "pairs.safetensors"
_SUMS = "sha256"


class DamagedKey(Exception):
    """A key file is missing, cut short or altered."""


@contextmanager
def alone(folder: Path, exercise: str, split: str, part: str = "") -> Iterator[None]:
    """Let one process at a time build a key, or a part of it; where no lock is to be had, several.

    Whoever waited looks first whether it is there.
    """
    lock = filelock.FileLock(folder / f".{exercise}.{split}.{part}lock")
    with ExitStack() as held:
        with suppress(OSError, NotImplementedError):  # a disk of a network may know no locks
            held.enter_context(lock)
        yield


def write_key(folder: Path, key: AnswerKey) -> None:
    """Write the four files and their checksums; the checksums last."""
    plan = key.plan
    described = {
        "exercise": plan.exercise,
        "split": plan.split,
        "cases": plan.cases,
        "calls": [call.to_json() for call in plan.calls],
        "trainings": [call.to_json() for call in plan.trainings],
        "answers": {call_id: header_of(call_id, answer) for call_id, answer in key.answers.items()},
        "bugs": bugs_to_json(key.book),
    }
    values = {
        f"{call_id}|{name}": array
        for call_id, answer in key.answers.items()
        for name, array in answer.tensors.items()
    }
    contents = (
        to_json(described).encode(),
        key.payload,
        bytes(safetensors.numpy.save(values)),
        pack_suspects(key.suspects),
    )
    sums = []
    for part, data in zip(_PARTS, contents, strict=True):
        name = f"{plan.exercise}.{plan.split}.{part}"
        replace_file(folder / name, data)
        sums.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
    replace_file(folder / f"{plan.exercise}.{plan.split}.{_SUMS}", "".join(sums).encode())


def read_key(folder: Path, exercise: str, split: str) -> AnswerKey:
    """Read a key back; raises DamagedKey, or FileNotFoundError where there is none."""
    (folder / f"{exercise}.{split}.{_SUMS}").stat()

    def read(name: str) -> bytes:
        try:
            return (folder / name).read_bytes()
        except OSError:
            raise DamagedKey(f"{folder / name} cannot be read") from None

    return parse_key(read, exercise, split, str(folder))


def parse_key(read: Callable[[str], bytes], exercise: str, split: str, where: str) -> AnswerKey:
    """Rebuild a key of its files, which `read` gives by their names; raises DamagedKey.

    `where` is what messages call the place that they come from.
    """
    *names, sums = key_files(exercise, split)
    lines = read(sums).decode(errors="replace").splitlines()
    wanted = {line[66:]: line[:64] for line in lines}
    contents = []
    for name in names:
        data = read(name)
        if hashlib.sha256(data).hexdigest() != wanted.get(name):
            raise DamagedKey(f"{where}/{name} does not match its checksum")
        contents.append(data)
    try:
        return _rebuild(*contents)
    except (Violation, KeyError, TypeError, ValueError) as error:
        raise DamagedKey(f"{where}/{exercise}.{split}: {error}") from None


def key_files(exercise: str, split: str) -> list[str]:
    """Return the names of the files of a key; that of their checksums is the last."""
    return [f"{exercise}.{split}.{part}" for part in (*_PARTS, _SUMS)]


def write_pairs(folder: Path, exercise: str, split: str, pairs: dict[str, Suspects]) -> None:
    """Write the signatures of two bugs at once."""
    replace_file(folder / f"{exercise}.{split}.{PAIRS}", pack_suspects(pairs))


def read_pairs(folder: Path, exercise: str, split: str) -> dict[str, Suspects]:
    """Read them back; raises DamagedKey, or FileNotFoundError where there are none."""
    path = folder / f"{exercise}.{split}.{PAIRS}"
    try:
        return unpack_suspects(path.read_bytes())
    except (Violation, KeyError, TypeError, ValueError) as error:
        raise DamagedKey(f"{path}: {error}") from None


def _rebuild(described: bytes, cases: bytes, values: bytes, suspects: bytes) -> AnswerKey:
    data: dict[str, Any] = json.loads(described)
    plan = Plan(
        exercise=data["exercise"],
        split=data["split"],
        cases=[DrawnCase(**case) for case in data["cases"]],
        calls=[Call.from_json(call) for call in data["calls"]],
        trainings=[Call.from_json(call) for call in data["trainings"]],
        tensors=load_tensors(cases),
    )
    tensors: dict[str, dict[str, Array]] = {}
    for name, array in load_tensors(values).items():
        call_id, _, rest = name.partition("|")
        tensors.setdefault(call_id, {})[rest] = array
    answers = {}
    for call_id, header in data["answers"].items():
        answer = parse_answer(header, b"", call_id)
        answers[call_id] = Answer(
            answer.status, tensors.get(call_id, {}), answer.info, answer.error
        )
    book = bugs_from_json(data["bugs"])
    key = AnswerKey(plan, answers, book, unpack_suspects(suspects))
    key.__dict__["payload"] = cases  # as they were read; the same bytes go to every worker
    return key


def bugs_to_json(book: BugBook) -> list[dict[str, object]]:
    """Return plain data that `bugs_from_json` reads back."""
    return [
        {**asdict(bug), "proofs": [_proof_to_json(proof) for proof in bug.proofs]}
        for bug in book.bugs
    ]


def bugs_from_json(data: Sequence[dict[str, object]]) -> BugBook:
    """Rebuild a book; raises TypeError for data of another form."""
    rows = []
    for entry in data:
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
        fields["proofs"] = tuple(_proof_from_json(proof) for proof in entry["proofs"])  # type: ignore[attr-defined]
        fields["ways"] = tuple(_way_from_json(way) for way in entry["ways"])  # type: ignore[attr-defined]
        rows.append(KnownBug(**fields))  # type: ignore[arg-type]
    return BugBook(tuple(rows))


def _way_from_json(data: Mapping[str, Any]) -> Way:
    words = data["number"], data["when"], data["step"]
    return Way(*words, tuple(data["hints"]), tuple(data["needs"]))


def _proof_to_json(proof: Proof) -> dict[str, object]:
    if isinstance(proof, CheckProof):
        return {"check": str(proof.check)}
    return {"call": proof.call, "group": proof.group, "far": proof.far}


def _proof_from_json(data: Mapping[str, Any]) -> Proof:
    if "check" in data:
        return CheckProof(CheckId.parse(data["check"]))
    return ValueProof(data["call"], Group(data["group"]), float(data["far"]))


def pack_suspects(suspects: dict[str, Suspects]) -> bytes:
    """Return the suspects of all targets as safetensors bytes."""
    if not suspects:
        return b""  # safetensors has no empty file
    tensors = {}
    names = {}
    for target, rows in suspects.items():
        names[target] = json.dumps(rows.names)
        for part in ("codes", "values", "failing"):
            # safetensors writes memory as it lies
            tensors[f"{target}/{part}"] = np.ascontiguousarray(getattr(rows, part))
        if rows.steps is not None:
            tensors[f"{target}/steps"] = np.ascontiguousarray(rows.steps)
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
            tensors.get(f"{target}/steps"),
        )
        for target, rows in sorted(names.items())  # the format keeps no order of its own
    }
