"""A course ready to grade: its keys on one split, its stand-ins and a warm process."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.execute.clock import Clock
from grader.execute.launch import WarmProcess
from grader.execute.session import Shared
from grader.grading.discretion import in_public_words
from grader.grading.exercise import Run, run_exercise
from grader.grading.jobs import Standins
from grader.grading.summary import sum_up
from grader.handin.read import Submission
from grader.key.cache import Keys, load_keys
from grader.key.secret import hidden_secret
from grader.records.calls import HIDDEN, PUBLIC
from grader.records.ids import CallId
from grader.records.results import Document, ExerciseResult, Status


@dataclass(frozen=True)
class Engine:
    """What grading needs beside a submission; one engine serves any number of them in turn."""

    folder: CourseFolder
    keys: Keys
    standins: Standins
    warm: WarmProcess
    # of one for hidden cases: the one that its words come from; None for public cases
    public: "Engine | None" = None
    trains: bool = False  # whether trainings are run, which take long

    def run(
        self,
        exercise: Exercise,
        submission: Submission,
        *,
        quick: bool = False,
        shared: Shared | None = None,
    ) -> Run:
        """Grade one exercise, and keep the answers behind the result.

        `quick` does not look for smaller inputs that show a failure; the verdicts are the same.
        `shared` is for those who go on with other exercises of the same submission.
        """
        if shared is None:
            with Shared(Clock(self.folder.course.limits, 1)) as shared:
                return self.run(exercise, submission, quick=quick, shared=shared)
        run = run_exercise(
            self.folder,
            exercise,
            self.keys.keys[exercise.id],
            self.standins,
            submission,
            self.warm,
            partial(self.keys.pairs, exercise.id),
            shared,
            quick=quick,
            trains=self.trains,
        )
        return self._told(run, exercise, submission, shared, quick=quick)

    def _told(
        self, run: Run, exercise: Exercise, submission: Submission, shared: Shared, *, quick: bool
    ) -> Run:
        """Return a run whose result says what it has to say, on hidden cases in public words."""
        if not run.silent or self.public is None:
            return run
        anew = self.trains and self._failed_to_learn(run.result)
        public = replace(self.public, trains=anew)
        told = public.run(exercise, submission, quick=quick, shared=shared)
        return replace(told, result=in_public_words(run.result, told.result))

    def _failed_to_learn(self, result: ExerciseResult) -> bool:
        """Whether the check of a training is not passed."""
        trainings = self.keys.keys[result.exercise].plan.trainings
        asked = {(i.target, i.what) for i in (CallId.parse(call.id) for call in trainings)}
        missed = [c for c in result.checks if c.status is not Status.PASSED]
        return any((check.target, check.id.name) in asked for check in missed)

    def runs(
        self, exercises: Sequence[Exercise], submission: Submission, *, quick: bool = False
    ) -> Iterator[Run]:
        """Grade some exercises of one submission, one after the other; see `run`."""
        with Shared(Clock(self.folder.course.limits, len(exercises))) as shared:
            for exercise in exercises:
                yield self.run(exercise, submission, quick=quick, shared=shared)

    def document(
        self,
        exercises: Sequence[Exercise],
        submission: Submission,
        on_graded: Callable[[str], None] = lambda _: None,
    ) -> Document:
        """Grade some exercises of one submission; `on_graded` hears each that is done."""
        results = []
        for run in self.runs(exercises, submission):
            results.append(run.result)
            on_graded(run.result.exercise)
        return self.sum_up(results)

    def sum_up(self, results: Sequence[ExerciseResult]) -> Document:
        """Return the document of some results."""
        return sum_up(self.folder.course, self.keys.digest, results)


def open_engine(
    folder: CourseFolder,
    exercises: Sequence[Exercise],
    warm: WarmProcess,
    *,
    hidden: bool = False,
    trains: bool = False,
    on_built: Callable[[str], None] = lambda _: None,
) -> Engine:
    """Return an engine for some exercises of a course, on the public or the hidden split.

    `on_built` hears each target and exercise whose key has to be built. Raises GraderError.
    """
    ids = [e.id for e in exercises]
    standins = Standins.of(folder)
    keys = load_keys(folder, ids, PUBLIC, on_built=on_built)
    public = Engine(folder, keys, standins, warm, trains=trains)
    if not hidden:
        return public
    secret = b"" if folder.shipped else hidden_secret(folder)  # a bundle has a key, or none
    keys = load_keys(folder, ids, HIDDEN, secret=secret, on_built=on_built)
    return replace(public, keys=keys, public=public)
