"""Keeps answer keys on disk, by content: three files an exercise and split.

exercise3.public.json                cases, calls, and the headers of the reference's answers
exercise3.public.cases.safetensors   inputs and parameter values; all that a worker gets
exercise3.public.key.safetensors     what the reference returned
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import safetensors.numpy

from grader.compare.signature import Suspects
from grader.execute.answers import Answer, header_of, load_tensors, parse_answer
from grader.files import replace_file
from grader.key.bugs import BugBook, bugs_from_json, bugs_to_json, pack_suspects, unpack_suspects
from grader.plan.records import Array, Call, DrawnCase, Plan
from grader.worker.wire import Violation

_PARTS = ("json", "cases.safetensors", "key.safetensors", "bugs.safetensors")
PAIRS = "pairs.safetensors"
_SUMS = "sha256"


class DamagedKey(Exception):
    """A key file is missing, cut short or altered."""


@dataclass(frozen=True)
class AnswerKey:
    """A plan, and what the reference answered to each of its calls."""

    plan: Plan
    answers: dict[str, Answer]
    book: BugBook = BugBook()
    suspects: dict[str, Suspects] = field(default_factory=dict)  # by target

    @cached_property
    def payload(self) -> bytes:
        """The plan's tensors as safetensors bytes, for workers."""
        return bytes(safetensors.numpy.save(self.plan.tensors))

    def steps(self, call_id: str) -> dict[str, Array]:
        """Return the named steps of the reference in a call."""
        tensors = self.answers[call_id].tensors
        return {k.removeprefix("step/"): v for k, v in tensors.items() if k.startswith("step/")}


def write_key(folder: Path, key: AnswerKey) -> None:
    """Write the three files and their checksums; the checksums last."""
    plan = key.plan
    described = {
        "exercise": plan.exercise,
        "split": plan.split,
        "cases": {name: asdict(case) for name, case in plan.cases.items()},
        "calls": [call.to_json() for call in plan.calls],
        "answers": {call_id: header_of(call_id, answer) for call_id, answer in key.answers.items()},
        "bugs": bugs_to_json(key.book),
    }
    values = {
        f"{call_id}|{name}": array
        for call_id, answer in key.answers.items()
        for name, array in answer.tensors.items()
    }
    contents = (
        json.dumps(described, separators=(",", ":")).encode(),
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
    sums = (folder / f"{exercise}.{split}.{_SUMS}").read_text(encoding="utf-8", errors="replace")
    wanted = {line[66:]: line[:64] for line in sums.splitlines()}
    contents = []
    for part in _PARTS:
        name = f"{exercise}.{split}.{part}"
        try:
            data = (folder / name).read_bytes()
        except OSError:
            raise DamagedKey(f"{folder / name} cannot be read") from None
        if hashlib.sha256(data).hexdigest() != wanted.get(name):
            raise DamagedKey(f"{folder / name} does not match its checksum")
        contents.append(data)
    try:
        return _rebuild(*contents)
    except (Violation, KeyError, TypeError, ValueError) as error:
        raise DamagedKey(f"{folder}/{exercise}.{split}: {error}") from None


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
        cases={name: DrawnCase(**case) for name, case in data["cases"].items()},
        calls=[Call.from_json(call) for call in data["calls"]],
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
