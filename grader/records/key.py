"""The answer key of one exercise on one split: what was asked, answered, and known of bugs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np
import safetensors.numpy

from grader.records.answers import Answer
from grader.records.calls import Array, Call, Plan
from grader.records.ids import CallId, CheckId
from grader.records.signatures import Suspects
from grader.worker.names import Group, compared, of_group
from grader.worker.protocol import Action, Earlier


def way_name(bug: str, number: int) -> str:
    """Name a variant of the bug "target/id" that has words of its own, by its number."""
    return f"{bug}#{number}" if number else bug


def bug_key(name: str) -> str:
    """Return the "target/id" of a bug from the name of one of its ways."""
    return name.partition("#")[0]


def bug_id(name: str) -> str:
    """Return the "id" of a bug from the name of one of its ways."""
    return bug_key(name).partition("/")[2]


@dataclass(frozen=True)
class ValueProof:
    """A call whose values show a bug."""

    call: str
    group: Group  # outputs or gradients
    far: float  # from the reference, in tolerances of float64; 0 where no outputs came


@dataclass(frozen=True)
class CheckProof:
    """A check that a bug fails and the reference passes."""

    check: CheckId


Proof = ValueProof | CheckProof


@dataclass(frozen=True)
class Way:
    """What a variant of a bug says of itself, where that is not what its bug says."""

    number: int  # of the variant, from 1
    when: str
    step: str
    hints: tuple[str, ...]
    needs: tuple[str, ...]


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
    proofs: tuple[Proof, ...]  # one a variant
    margin64: float | None  # least distance of a variant in float64 tolerances, None where no value
    margin32: float | None
    needs: tuple[str, ...] = ()  # of which one stands in code that makes it; any code, if none
    ways: tuple[Way, ...] = ()
    number: int = 0  # which of the ways it is

    @property
    def name(self) -> str:
        """Identifies it and which of its ways it is."""
        return way_name(self.key, self.number)

    @property
    def key(self) -> str:
        """Identifies the bug in its exercise."""
        return f"{self.target}/{self.id}"

    @property
    def shown_by_values(self) -> bool:
        """Whether it has a check of its own; what another check shows costs only there."""
        return self.margin64 is not None

    @property
    def value_proofs(self) -> tuple[ValueProof, ...]:
        """The proofs by values: other variants are shown by another check."""
        return tuple(proof for proof in self.proofs if isinstance(proof, ValueProof))


@dataclass(frozen=True)
class BugBook:
    """The known bugs of one exercise on one split."""

    bugs: tuple[KnownBug, ...] = ()

    def checked(self, target: str) -> list[KnownBug]:
        """Return the bugs of a target's own code that have a check of their own."""
        return [bug for bug in self.bugs if bug.target == target and bug.shown_by_values]

    def by_key(self, key: str) -> KnownBug:
        """Return the bug "target/id", or that in one of its ways; raises KeyError."""
        return self._by_key[key]

    @cached_property
    def _by_key(self) -> dict[str, KnownBug]:
        ways = [
            replace(
                bug,
                number=way.number,
                when=way.when,
                step=way.step,
                hints=way.hints,
                needs=way.needs,
            )
            for bug in self.bugs
            for way in bug.ways
        ]
        return {bug.name: bug for bug in [*self.bugs, *ways]}


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

    @cached_property
    def payloads(self) -> Mapping[Earlier, bytes]:
        """The tensors of all calls of a kind, for a worker that makes them; not of trainings."""
        kinds = dict.fromkeys(call.earlier for call in self.plan.calls)
        calls = {kind: [c for c in self.plan.calls if c.earlier is kind] for kind in kinds}
        return {k: bytes(safetensors.numpy.save(self.plan.tensors_of(calls[k]))) for k in kinds}

    def numeric_calls(self, target: str, action: Action, group: str | None) -> Sequence[Call]:
        """Return the calls of the numeric cases, of one group or of all, smallest first."""
        asked = (target, action, group)
        if asked not in self._numeric:  # it is asked for by each check of each submission
            cases = self.plan.numeric_cases(target)
            sizes = {c.id: prod(c.dims.values()) for c in cases if group in (None, c.group)}
            ids = {str(CallId(target, case, action)) for case in sizes}
            calls = [call for call in self.plan.of_target(target) if call.id in ids]
            self._numeric[asked] = sorted(calls, key=lambda call: sizes[call.case])
        return self._numeric[asked]

    @cached_property
    def _numeric(self) -> dict[tuple[str, Action, str | None], Sequence[Call]]:
        return {}

    def is_constant(self, call_id: str) -> bool:
        """Whether a call should return one number throughout."""
        if call_id not in self._constant:  # it is asked of each submission of a class
            due = compared(self.answers[call_id].tensors, Group.OUTPUT).values()
            alike = [one.size > 1 and np.allclose(one, one.flat[0], atol=0) for one in due]
            self._constant[call_id] = bool(alike) and all(alike)
        return self._constant[call_id]

    @cached_property
    def _constant(self) -> dict[str, bool]:
        return {}

    def steps(self, call_id: str) -> dict[str, Array]:
        """Return the named steps of the reference in a call."""
        return of_group(self.answers[call_id].tensors, Group.STEP)
