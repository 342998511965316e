"""Grades a notebook's cells and makes the verdict of each test cell; a pure core for all ways.

The kernel, the executor and the bulk command share it, so they cannot differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from grader.course.models import Exercise
from grader.execute.clock import Clock
from grader.execute.session import Shared
from grader.grading.engine import Engine
from grader.grading.exercise import Run
from grader.grading.exhibits import Exhibit, exhibits_of
from grader.handin.read import Source, Submission
from grader.nbgrader.cells import TestCell, kind_score
from grader.records.results import Kind, Status
from grader.report.verdict import Verdict, render_verdict


@dataclass(frozen=True)
class MarkedNotebook:
    """An exercise graded from a notebook's cells."""

    exercise: Exercise
    run: Run

    def verdict(self, test: TestCell, notes: Sequence[str] = ()) -> Verdict:
        """Return the verdict of one of the notebook's test cells."""
        result = self.run.result
        exhibits = self._exhibits if test.kind is Kind.NUMERIC else ()
        return render_verdict(result, kind_score(result, test), exhibits=exhibits, notes=notes)

    @cached_property
    def _exhibits(self) -> tuple[Exhibit, ...]:
        """Pictures of the targets whose values are wrong."""
        checks = [c for c in self.run.result.checks if c.kind is Kind.NUMERIC]
        wrong = {c.target for c in checks if c.status is Status.FAILED and c.case}
        return exhibits_of(self.exercise, self.run, targets=wrong)


class NotebookGrader:
    """Grades notebooks with one engine, each content once."""

    def __init__(self, engine: Engine) -> None:
        """`engine` stays the caller's, who closes what is behind it."""
        self.engine = engine
        self._last: tuple[object, MarkedNotebook] | None = None
        self._shared: Shared | None = None

    @contextmanager
    def one_submission(self, notebooks: int) -> Iterator[None]:
        """Say that all notebooks until its end are of one submission, and how many they are."""
        with Shared(Clock(self.engine.folder.course.limits, notebooks)) as shared:
            self._shared = shared
            try:
                yield
            finally:
                self._shared = None

    def grade(
        self, exercise: Exercise, own: Source, beside: Mapping[str, Source]
    ) -> MarkedNotebook:
        """Grade an exercise's notebook; `beside` holds the other exercises' sources, by id.

        The last result is kept: the test cells of a notebook share it.
        """
        sources = {
            e.id: beside.get(e.id, Source(e.file, problem=f"{e.file} was not handed in"))
            for e in self.engine.folder.course.exercises
        }
        asked = (exercise.id, own, _read(exercise, sources, self.engine))
        if self._last is None or self._last[0] != asked:
            submission = Submission({**sources, exercise.id: own})
            run = self.engine.run(exercise, submission, quick=True, shared=self._shared)
            self._last = (asked, MarkedNotebook(exercise, run))
        return self._last[1]


def _read(exercise: Exercise, sources: Mapping[str, Source], engine: Engine) -> object:
    """What of the other exercises the result depends on."""
    if not exercise.builds_on_earlier:
        return ()
    return tuple(sources[e.id] for e in engine.folder.course.earlier(exercise))
