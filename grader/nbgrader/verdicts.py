"""Grades a notebook's cells and makes the verdict of each test cell; a pure core for all ways.

The kernel, the executor and the bulk command share it, so they cannot differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.course.models import Exercise
from grader.engine import Engine
from grader.grading import Run
from grader.key.store import AnswerKey
from grader.nbgrader.cells import TestCell, Unit, kind_score
from grader.nbgrader.render import Picture, Verdict, render_verdict
from grader.plan.records import PUBLIC
from grader.records import Kind, Status
from grader.submission import Source, Submission

_LARGEST = 16  # rows and columns of a heat map
_PICTURES = 2  # a verdict


@dataclass(frozen=True)
class Graded:
    """An exercise graded from a notebook's cells."""

    exercise: Exercise
    run: Run
    key: AnswerKey

    def verdict(self, test: TestCell, notes: Sequence[str] = ()) -> Verdict:
        """Return the verdict of one of the notebook's test cells."""
        result = self.run.result
        pictures = self._pictures() if test.kind is Kind.NUMERIC else []
        score = kind_score(result, test)
        return render_verdict(result, test, score, pictures=pictures, notes=notes)

    def _pictures(self) -> list[Picture]:
        """Heat maps of what failed; none of hidden cases, since they show expected values."""
        if self.key.plan.split != PUBLIC:
            return []
        failed = [
            c
            for c in self.run.result.checks
            if c.kind is Kind.NUMERIC and c.status is Status.FAILED and c.case
        ]
        pictures = [self._picture(check.target, str(check.case["name"])) for check in failed]
        return [picture for picture in pictures if picture][:_PICTURES]

    def _picture(self, target: str, case: str) -> Picture | None:
        """The outputs of the case that failed: the first matrix of each."""
        for call in self.key.plan.of_target(target):
            answer = self.run.answers.get(call.id)
            if self.key.plan.cases[f"{target}/{call.case}"].name != case or answer is None:
                continue
            for name, expected in self.key.answers[call.id].tensors.items():
                actual = answer.tensors.get(name)
                if not name.startswith("output/") or actual is None:
                    continue
                if expected.ndim < 2 or actual.shape != expected.shape:
                    continue
                first = (0,) * (expected.ndim - 2)
                matrices = expected[first], actual[first]
                if max(matrices[0].shape) <= _LARGEST and expected.size:
                    label = name.removeprefix("output/")
                    return Picture(f"{label} of {target}, {case}, first sample", *matrices)
        return None


class NotebookGrader:
    """Grades notebooks with one engine, each content once."""

    def __init__(self, engine: Engine) -> None:
        """`engine` stays the caller's, who closes what is behind it."""
        self.engine = engine
        self._last: tuple[object, Graded] | None = None

    def grade(
        self, exercise: Exercise, units: tuple[Unit, ...], beside: Mapping[str, Source]
    ) -> Graded:
        """Grade an exercise's units; `beside` holds the other exercises' sources, by id.

        The last result is kept: the test cells of a notebook share it.
        """
        own = Source(f"{exercise.id}.ipynb", units=units, notebook=True)
        sources = {
            e.id: beside.get(e.id, Source(e.file, problem=f"{e.file} was not handed in"))
            for e in self.engine.folder.course.exercises
        }
        asked = (exercise.id, units, _read(exercise, sources, self.engine))
        if self._last is None or self._last[0] != asked:
            submission = Submission({**sources, exercise.id: own})
            run = self.engine.run(exercise, submission)
            key = self.engine.keys.keys[exercise.id]
            self._last = (asked, Graded(exercise, run, key))
        return self._last[1]


def _read(exercise: Exercise, sources: Mapping[str, Source], engine: Engine) -> object:
    """What of the other exercises the result depends on."""
    if all(target.earlier != "own" for target in exercise.targets):
        return ()
    return tuple(sources[e.id] for e in engine.folder.course.earlier(exercise))
