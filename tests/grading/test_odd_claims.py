"""Claims that no honest worker makes: each is the submission's failure, and never grader's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, cast

import numpy as np
import pytest
from support import solution

from grader.course.load import CourseFolder
from grader.execute.claims import heard
from grader.execute.clock import Clock
from grader.execute.launch import WarmProcess
from grader.execute.session import Collected, Job, Shared
from grader.grading import rounds as grading_rounds
from grader.grading.exercise import run_exercise
from grader.grading.jobs import Standins
from grader.grading.learnt import learnt_of
from grader.handin.read import Source, Submission
from grader.key.cache import Keys
from grader.records.answers import Answer, AnswerStatus, Greeting, header_of, parse_answer
from grader.records.calls import Array, Call
from grader.worker.names import Group
from grader.worker.protocol import Cause, Told
from grader.worker.wire import Violation

TEXTS = (
    "", "x", "*" * 40, "a.weight", "heads.*.weight", "\u202e", "9" * 300, "(" * 60, "ValueError",
    "mat1 and mat2 shapes cannot be multiplied (99x3 and 2x9)", "int64", "shape '[-1, 2]' is",
    "The size of tensor a (4) must match the size of tensor b (7) at non-singleton dimension 9",
)  # fmt: skip
DTYPES = ("float64", "float32", "float16", "int64", "int8", "uint8", "bool")
SHAPES = ((), (0,), (1,), (3, 0), (2, 3), (2, 3, 4), (1,) * 30, (600, 64))


class Liar:
    """Makes up answers, beside right ones: every field that a worker may fill in, at random."""

    def __init__(self, seed: int, key: Mapping[str, Answer]) -> None:
        self.random, self.key = Random(seed), key

    def answers(self, calls: Sequence[Call], job: Job) -> dict[str, Answer]:
        """Answer calls as the parent hears it: what it refuses is refused."""
        return {call.id: self.answer(call, job) for call in calls}

    def answer(self, call: Call, job: Job) -> Answer:
        right = self.key.get(call.id.partition("~")[0], Answer(AnswerStatus.OK))
        if self.random.random() < 0.4:
            return right
        made = replace(right, tensors=dict(self.tensors(call, right.tensors)))
        header = cast(dict[str, Any], header_of(call.id, made))
        header["info"] |= dict(self.info(call))
        if self.random.random() < 0.3:
            header["status"] = self.random.choice(["raised", "unbound", "missing", "ok"])
            header["error"] = self.error(job) if header["status"] == "raised" else None
        try:
            found = parse_answer(header, b"", call.id)
            return heard(replace(found, tensors=made.tensors), call, job.lines)
        except Violation as violation:
            return Answer(AnswerStatus.REFUSED, reason=str(violation))

    def text(self) -> str:
        return self.random.choice(TEXTS)

    def many(self, make: Any, most: int = 4) -> list[Any]:
        return [make() for _ in range(self.random.randrange(most))]

    def sized(self) -> dict[str, object]:
        size = [0, 1, 3, 2**62]
        return {"name": self.text(), "shape": self.many(lambda: self.random.choice(size))}

    def error(self, job: Job) -> dict[str, object]:
        frame = {"label": next(iter(job.lines), "x"), "line": 2, "name": self.text()}
        return {
            "type": self.text(),
            "bases": self.many(self.text),
            "message": self.text(),
            "frames": self.many(lambda: frame),
            "near": self.text(),
            "cause": self.random.choice(list(Cause)),
        }

    def info(self, call: Call) -> Iterator[tuple[str, object]]:
        roles = [role.name for role in call.roles]
        left = self.random.sample(roles, len(roles))

        def bound() -> dict[str, object]:
            taken = [left.pop() for _ in range(min(len(left), self.random.randrange(4)))]
            told = self.random.choice(list(Told))
            return {"name": self.text(), "roles": taken, "told": told, "turnable": True}

        value = {"type": self.text(), "shape": [2, 3], "dtype": self.text()}
        number = self.random.choice([0, 1, 7, 2**30])
        every: dict[str, object] = {
            "bound": self.many(bound, 6),
            "untrained": self.many(lambda: {"name": self.text(), "roles": self.many(self.text)}),
            "names": self.many(self.sized),
            "sought": [{"name": r.name, "shape": list(r.shape)} for r in call.roles[:2]],
            "present": self.many(self.sized),
            "loose": self.many(lambda: {"path": self.text(), "what": self.text()}),
            "parts": self.many(lambda: value),
            "keys": self.many(self.text),
            "forbidden": self.many(self.text),
            "modules": self.many(self.text),
            "returned": self.text(),
            "count": number,
            "registered": number,
            "given": number,
            "hidden": number,
        }
        yield from self.random.sample(sorted(every.items()), self.random.randrange(5))

    def tensors(self, call: Call, right: Mapping[str, Array]) -> Iterator[tuple[str, Array]]:
        names = [*right, *(f"{group}" for group in Group), *(f"{group}/x" for group in Group)]
        names += [f"{group}/{name}" for group in Group for name in (0, *call.outputs)]
        names += [f"seen/000/{self.text()}/0,1,2,3,4/", "seen/1", "held/0/x"]
        yield from right.items()
        for name in self.random.sample(names, 6):
            shape = right[name].shape if name in right else self.random.choice(SHAPES)
            if self.random.random() < 0.4:
                shape = self.random.choice(SHAPES)
            values = np.full(shape, self.random.choice([0.0, 1.0, -3.0, 1e308, np.nan, np.inf]))
            yield name, values.astype(self.random.choice(DTYPES))


@pytest.mark.parametrize("number", range(1, 13))
@pytest.mark.parametrize(
    "seeds",
    [range(4), pytest.param(range(4, 60), marks=pytest.mark.long)],
    ids=["some", "many"],
)
def test_odd_claims_are_judged_without_a_fault(
    seeds: range,
    number: int,
    folder: CourseFolder,
    keys: Keys,
    warm: WarmProcess,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    course, name = folder.course, f"exercise{number}"
    exercise, key = course.exercise(name), keys.keys[name]
    sources = {e.id: Source(e.file, problem="not handed in") for e in course.exercises}
    sources[name] = Source(exercise.file, units=((exercise.file, solution(name)),))
    greeting = Greeting(loaded=True, error=None, names=[t.name for t in exercise.targets])
    for seed in seeds:
        liar = Liar(seed, key.answers)

        def collect(
            _warm: object, job: Job, calls: Sequence[Call], *_: object, liar: Liar = liar, **__: Any
        ) -> Collected:
            return Collected(liar.answers(calls, job), greeting)

        monkeypatch.setattr(grading_rounds, "collect", collect)
        with Shared(Clock(course.limits, 1)) as shared, np.errstate(all="ignore"):
            run = run_exercise(
                folder, exercise, key, Standins.of(folder), Submission(sources), warm,
                lambda: {}, shared, quick=True, trains=True,
            )  # fmt: skip
            learnt_of(exercise, run)
        assert run.result.checks


def test_writing_after_a_step_that_nobody_asked_for_is_refused(keys: Keys) -> None:
    """Python makes no number of so many digits."""
    trainings = keys.keys["exercise12"].plan.trainings
    (call,) = (call for call in trainings if call.learning and call.learning.stages)
    for step in ("9" * 5000, "x", str(max(call.learning.stages) + 1 if call.learning else 0)):
        answer = Answer(AnswerStatus.OK, tensors={f"{Group.WRITTEN}/{step}": np.zeros(3, np.int64)})
        with pytest.raises(Violation, match="nobody asked for"):
            heard(answer, call, {})
