"""`grade audit`: gathers what the course's tests of its own tests came to."""

import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from grader.audit.records import (
    Audit,
    BugTrial,
    ExerciseAudit,
    MutantTrial,
    PairTrial,
    VariantTrial,
)
from grader.audit.tasks import build_tried_key, try_bugs, try_mutants, try_pairs
from grader.audit.variants import grade_alone, try_variant
from grader.course.bugs import bugs_path
from grader.course.derive import derive_stub
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.errors import CourseError
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine
from grader.grading.jobs import Standins
from grader.handin.read import Source
from grader.key.builders import Builders, KeyOrder
from grader.key.cache import PUBLIC_SECRET, Keys, load_keys, orders_for
from grader.records.calls import PUBLIC
from grader.records.key import AnswerKey
from grader.records.results import ExerciseResult

_LESSON = "# %% [markdown]"


def run_audit(
    folder: CourseFolder,
    variants: Path | None,
    warm: WarmProcess,
    expect: Callable[[int], None],
    advance: Callable[[str], None],
    *,
    all_pairs: bool,
) -> Audit:
    """Audit all exercises; raises GraderError for a course that cannot be built.

    `variants` holds a folder of correct submissions for each exercise. `expect` and `advance`
    hear of steps to come and steps done. Without `all_pairs`, many pairs of bugs are tried in part.
    """
    _refuse_without_bugs(folder)
    with Builders() as builders:
        trials = _Trials(folder, builders, expect, advance, all_pairs)
        keys = trials.load_keys()
        alone = replace(keys, pairs=lambda _: {})  # a variant has no bug to name
        engine = Engine(folder, alone, Standins.of(folder), warm)
        with ThreadPoolExecutor(1) as beside:  # it only waits for the builders
            tried = beside.submit(trials.run, keys)
            graded = {}
            for exercise in folder.course.exercises:
                graded[exercise.id] = _grade_all(engine, exercise, variants)
                advance(f"variants of {exercise.id}")
            found = tried.result()
    audits = [_gather(folder, e, keys, found[e.id], graded[e.id]) for e in folder.course.exercises]
    points = sum(exercise.points for exercise in folder.course.exercises)
    return Audit(folder.course.title, tuple(audits), points)


def _refuse_without_bugs(folder: CourseFolder) -> None:
    for exercise in folder.course.exercises:
        path = bugs_path(folder, exercise)
        if not path.is_file():
            raise CourseError(f"{path} is not there: an audit needs known bugs")


@dataclass(frozen=True)
class _Tried:
    """What builders found of one exercise."""

    bugs: tuple[BugTrial, ...]
    pairs: PairTrial
    mutants: MutantTrial


@dataclass(frozen=True)
class _Trials:
    """What builders do for an audit: keys, bugs, pairs of bugs and mutants."""

    folder: CourseFolder
    builders: Builders
    expect: Callable[[int], None]
    advance: Callable[[str], None]
    all_pairs: bool
    built: dict[str, Future[tuple[BugTrial, ...]]] = field(default_factory=dict)  # by exercise

    def load_keys(self) -> Keys:
        """Find or build the keys; bugs are tried on the way to a key that is built."""
        ids = [exercise.id for exercise in self.folder.course.exercises]
        self.expect(5 * len(ids))
        keys = load_keys(self.folder, ids, PUBLIC, build=self._build)
        for exercise in ids:
            if exercise not in self.built:
                self.advance(f"answer key of {exercise}")
        return keys

    def run(self, keys: Keys) -> dict[str, _Tried]:
        """Try all that is not tried yet, what takes longest first; raises GraderError."""
        by_work = sorted(keys.keys, key=lambda i: _work_of(keys.keys[i]), reverse=True)
        orders = orders_for(self.folder, by_work, PUBLIC, PUBLIC_SECRET, keys.place)
        untried = [order for order in orders if order.exercise not in self.built]
        self.expect(len(untried) - len(by_work))
        pairs = self.builders.start(partial(try_pairs, whole=self.all_pairs), orders)
        bugs = self.builders.start(try_bugs, untried)
        mutants = self.builders.start(try_mutants, orders)
        self.builders.wait(
            {
                **{future: f"pairs of {e}" for e, future in pairs.items()},
                **{future: f"bugs of {e}" for e, future in bugs.items()},
                **{future: f"mutants of {e}" for e, future in mutants.items()},
            },
            self.advance,
        )
        bugs |= self.built
        return {
            e: _Tried(bugs[e].result(), pairs[e].result(), mutants[e].result()) for e in by_work
        }

    def _build(self, orders: Sequence[KeyOrder], on_built: Callable[[str], None]) -> None:
        self.built.update(self.builders.start(build_tried_key, orders))

        def done(exercise: str) -> None:
            on_built(exercise)
            self.advance(f"answer key of {exercise}")

        self.builders.wait({future: e for e, future in self.built.items()}, done)


def _work_of(key: AnswerKey) -> int:
    """How much there is to try, roughly."""
    return len(key.plan.calls) * len(key.book.bugs)


@dataclass(frozen=True)
class _GradedExercise:
    """What grading made of the right and the empty texts of one exercise."""

    reference: ExerciseResult
    stub: ExerciseResult
    variants: tuple[VariantTrial, ...]


def _grade_all(engine: Engine, exercise: Exercise, variants: Path | None) -> _GradedExercise:
    solution = _solution(engine.folder, exercise)
    reference, stub = (
        grade_alone(grading, exercise, Source(exercise.file, ((exercise.file, text),))).result
        for grading, text in (
            (replace(engine, trains=True), solution),
            (engine, derive_stub(solution)),
        )
    )
    paths = sorted((variants / exercise.id).glob("*.py")) if variants else []
    tried = tuple(try_variant(engine, exercise, path) for path in paths)
    return _GradedExercise(reference, stub, tried)


def _solution(folder: CourseFolder, exercise: Exercise) -> str:
    return (folder.solutions / exercise.file).read_text(encoding="utf-8")


def _gather(
    folder: CourseFolder,
    exercise: Exercise,
    keys: Keys,
    tried: _Tried,
    graded: _GradedExercise,
) -> ExerciseAudit:
    shown = [bug for bug in keys.keys[exercise.id].book.bugs if bug.shown_by_values]
    # what is trained is made in many ways, so no known bug tells one; tests fail each of its checks
    free = {target.name for target in exercise.targets if target.trains}
    checks = tuple(c.id for c in graded.reference.checks if c.target not in free)
    asked = {check: folder.course.property_of(check) for check in checks}
    return ExerciseAudit(
        exercise=exercise.id,
        stub_score=graded.stub.score,
        reference_score=graded.reference.score,
        max_score=graded.reference.max_score,
        checks=checks,
        bugs=tried.bugs,
        pairs=tried.pairs,
        margin=min((bug.margin64 or 0.0 for bug in shown), default=float("inf")),
        margin32=min((bug.margin32 or 0.0 for bug in shown), default=float("inf")),
        variants=graded.variants,
        mutants=tried.mutants,
        complaints=_complaints(exercise, _solution(folder, exercise), graded.reference),
        rules={c: (inspect.getdoc(p) or "").splitlines()[0] for c, p in asked.items() if p},
    )


def _complaints(exercise: Exercise, solution: str, reference: ExerciseResult) -> tuple[str, ...]:
    lines = []
    if _LESSON not in solution:
        lines.append("the solution holds no lesson")
    if abs(reference.max_score - exercise.points) > 1e-6:
        lines.append(f"{reference.max_score:g} of {exercise.points:g} points can be reached")
    lines += [f"{t.name} gives no points" for t in exercise.targets if not t.points.total]
    return tuple(lines)
