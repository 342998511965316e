"""`grade audit`: gathers what the course's tests of its own tests came to."""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from grader.audit.trial import PAIR_WORDS
from grader.compare.arrays import distance
from grader.course.bugs import bugs_path
from grader.course.derive import derive_stub
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.engine import Engine
from grader.errors import CourseError
from grader.execute.launch import WarmProcess
from grader.grading import Run, Standins
from grader.key.builders import TRIED_KEY, Builders, Replies, Task
from grader.key.cache import PUBLIC_SECRET, Keys, load_keys, tasks_for
from grader.key.store import PAIRS, AnswerKey
from grader.plan.records import PUBLIC
from grader.records import ExerciseResult, Status
from grader.submission import Source, Submission, read_source, read_submission

_LOSES = re.compile(r"^# loses: (\S+)$", re.MULTILINE)  # what a correct variant may lose
_LEAST_MARGIN = 100.0  # tolerances between the reference and the nearest bug
_LEAST_MARGIN32 = 10.0  # the same in float32
_MOST_DEVIATION = 0.1  # tolerances between the key and the farthest correct variant
_LEAST_PAIRS = 0.9  # share of the pairs that can be told apart from single bugs
_LESSON = "# %% [markdown]"


@dataclass(frozen=True)
class BugTrial:
    """A known bug's variant, tried."""

    bug: str  # "target/id"
    variant: int
    title: str
    lost: float  # points
    failed: tuple[str, ...]  # checks
    own: bool  # whether its own check failed
    named: tuple[str, ...]
    right: bool  # named, first and right
    alike: int  # bugs that look the same; too many are not named

    @property
    def told(self) -> bool:
        """Whether it is named, or is one of so many alike that none is."""
        return self.right or (not self.named and self.alike > 3)


@dataclass(frozen=True)
class VariantTrial:
    """A correct variant, graded."""

    name: str
    lost: tuple[str, ...]  # checks beyond those that it may lose
    deviation: float  # greatest distance from the key, in tolerances


@dataclass(frozen=True)
class ExerciseAudit:
    """What one exercise's audit came to."""

    exercise: str
    stub_score: float
    reference_score: float
    max_score: float
    checks: tuple[str, ...]
    bugs: tuple[BugTrial, ...]
    pairs: Mapping[str, int]
    margin: float  # least distance of a bug that values show, in float64 tolerances
    margin32: float
    variants: tuple[VariantTrial, ...]
    mutants: Mapping[str, int]  # total, killed, equivalent
    survivors: tuple[str, ...]
    complaints: tuple[str, ...] = field(default=())  # about lesson, hints and points

    @property
    def idle(self) -> tuple[str, ...]:
        """Checks that no bug fails."""
        failed = {check for bug in self.bugs for check in bug.failed}
        return tuple(check for check in self.checks if check not in failed)

    @property
    def pairs_named(self) -> float:
        """Share of the pairs named, of those that look like no single bug."""
        told = self.pairs["named"] + self.pairs["ambiguous"]
        return self.pairs["named"] / told if told else 1.0

    @property
    def deviation(self) -> float:
        """Greatest distance of a correct variant from the key, in tolerances."""
        return max((variant.deviation for variant in self.variants), default=0.0)

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for everything that is not as it must be."""
        lines = [*self.complaints]
        if self.stub_score:
            lines.append(f"the stub scores {self.stub_score:g}, not 0")
        if self.reference_score != self.max_score:
            lines.append(f"the reference scores {self.reference_score:g} of {self.max_score:g}")
        lines += [f"{b.bug}: costs no points" for b in self.bugs if not b.lost]
        lines += [f"{b.bug}: passes its own check" for b in self.bugs if not b.own]
        lines += [
            f"{b.bug}: is named {', '.join(b.named) or 'nothing'}" for b in self.bugs if not b.told
        ]
        lines += [f"no bug fails the check {check}" for check in self.idle]
        lines += [
            f"the variant {v.name} loses {', '.join(v.lost)}" for v in self.variants if v.lost
        ]
        if self.margin < _LEAST_MARGIN or self.margin32 < _LEAST_MARGIN32:
            lines.append(
                f"the nearest bug is {self.margin:.3g} ({self.margin32:.3g}) tolerances away"
            )
        if self.deviation > _MOST_DEVIATION:
            lines.append(f"a correct variant deviates by {self.deviation:.3g} tolerances")
        lines += [f"the mutant {name} survives" for name in self.survivors]
        return tuple(f"{self.exercise}: {line}" for line in lines)


@dataclass(frozen=True)
class Audit:
    """The audit of a course."""

    course: str
    exercises: tuple[ExerciseAudit, ...]
    points: float

    @property
    def pairs_named(self) -> float:
        """Share of pairs named over the course."""
        named = sum(e.pairs["named"] for e in self.exercises)
        told = named + sum(e.pairs["ambiguous"] for e in self.exercises)
        return named / told if told else 1.0

    @property
    def problems(self) -> tuple[str, ...]:
        """All problems; none where the course passes."""
        lines = [line for exercise in self.exercises for line in exercise.problems]
        if self.pairs_named < _LEAST_PAIRS:
            lines.append(f"only {self.pairs_named:.0%} of the pairs of bugs are named")
        return tuple(lines)


def run_audit(
    folder: CourseFolder,
    variants: Path | None,
    warm: WarmProcess,
    expect: Callable[[int], None],
    advance: Callable[[str], None],
) -> Audit:
    """Audit all exercises; raises GraderError for a course that cannot be built.

    `variants` holds a folder of correct submissions for each exercise. `expect` and `advance`
    hear of steps to come and steps done.
    """
    for exercise in folder.course.exercises:
        if not bugs_path(folder, exercise).is_file():
            raise CourseError(
                f"{bugs_path(folder, exercise)} is not there: an audit needs known bugs"
            )
    with Builders() as builders:
        trials = _Trials(folder, builders, expect, advance)
        keys = trials.load_keys()
        alone = replace(keys, pairs=lambda _: {})  # a variant has no bug to name
        engine = Engine(folder, alone, Standins.of(folder), warm)
        with ThreadPoolExecutor(1) as beside:  # it only waits for the builders
            replies = beside.submit(trials.run, keys)
            graded = {}
            for exercise in folder.course.exercises:
                graded[exercise.id] = _grade_all(engine, exercise, variants)
                advance(f"variants of {exercise.id}")
            tried = replies.result()
    audits = [_gather(folder, e, keys, tried[e.id], graded[e.id]) for e in folder.course.exercises]
    points = sum(exercise.points for exercise in folder.course.exercises)
    return Audit(folder.course.title, tuple(audits), points)


@dataclass
class _Trials:
    """What builders do for an audit: keys, bugs, pairs of bugs and mutants."""

    folder: CourseFolder
    builders: Builders
    expect: Callable[[int], None]
    advance: Callable[[str], None]
    replies: dict[str, dict[str, Any]] = field(default_factory=dict)  # by exercise

    def load_keys(self) -> Keys:
        """Find or build the keys; bugs are tried on the way to a key that is built."""
        ids = [exercise.id for exercise in self.folder.course.exercises]
        self.replies = {exercise: {} for exercise in ids}
        self.expect(5 * len(ids))
        keys = load_keys(self.folder, ids, PUBLIC, build=self._build, part=TRIED_KEY)
        for exercise in ids:
            if "bugs" not in self.replies[exercise]:
                self.advance(f"answer key of {exercise}")
        return keys

    def run(self, keys: Keys) -> dict[str, dict[str, Any]]:
        """Try all that is not tried yet, in order of work; raises GraderError."""
        by_work = sorted(keys.keys, key=lambda i: _work_of(keys.keys[i]), reverse=True)
        bare = [i for i in by_work if not (keys.place / f"{i}.{PUBLIC}.{PAIRS}").is_file()]
        ready = [i for i in by_work if i not in bare]
        untried = [i for i in by_work if "bugs" not in self.replies[i]]
        parts = (("pairs", bare), ("tried pairs", ready), ("bugs", untried), ("mutants", by_work))
        tasks = [self._task(part, i, keys) for part, exercises in parts for i in exercises]
        self.expect(len(bare) + len(untried) - len(by_work))

        def then(done: Task) -> list[Task]:
            follows = done.part == "pairs"
            return [self._task("tried pairs", done.exercise, keys)] if follows else []

        self._note(self.builders.run(tasks, self._tell, then))
        return self.replies

    def _task(self, part: str, exercise: str, keys: Keys) -> Task:
        (task,) = tasks_for(part, self.folder, [exercise], PUBLIC, PUBLIC_SECRET, keys.place)
        return task

    def _build(self, tasks: Sequence[Task], on_built: Callable[[Task], None]) -> None:
        def done(task: Task) -> None:
            on_built(task)
            self._tell(task)

        self._note(self.builders.run(tasks, done))

    def _note(self, replies: Replies) -> None:
        for task, reply in replies.items():
            self.replies[task.exercise] |= reply

    def _tell(self, task: Task) -> None:
        what = "answer key" if task.part == TRIED_KEY else task.part
        self.advance(f"{what} of {task.exercise}")


def _work_of(key: AnswerKey) -> int:
    """How much there is to try, roughly."""
    return len(key.plan.calls) * len(key.book.bugs)


def _grade(engine: Engine, exercise: Exercise, source: Source) -> Run:
    """Grade one text of an exercise, beside the references of the earlier ones."""
    folder = engine.folder
    limit = folder.course.limits.source_kib * 1024
    rest = read_submission(folder.solutions, folder.course, [exercise], limit).sources
    return engine.run(exercise, Submission({**rest, exercise.id: source}))


@dataclass(frozen=True)
class _Graded:
    """What grading made of the right and the empty texts of one exercise."""

    reference: ExerciseResult
    stub: ExerciseResult
    variants: tuple[VariantTrial, ...]


def _grade_all(engine: Engine, exercise: Exercise, variants: Path | None) -> _Graded:
    solution = _solution(engine.folder, exercise)
    grade = partial(_grade, engine, exercise)
    reference = grade(Source(exercise.file, ((exercise.file, solution),))).result
    stub = grade(Source(exercise.file, ((exercise.file, derive_stub(solution)),))).result
    key = engine.keys.keys[exercise.id]
    return _Graded(reference, stub, _try_variants(engine.folder, exercise, key, variants, grade))


def _solution(folder: CourseFolder, exercise: Exercise) -> str:
    return (folder.solutions / exercise.file).read_text(encoding="utf-8")


def _gather(
    folder: CourseFolder, exercise: Exercise, keys: Keys, reply: dict[str, Any], graded: _Graded
) -> ExerciseAudit:
    bugs = tuple(
        BugTrial(**{**row, "failed": tuple(row["failed"]), "named": tuple(row["named"])})
        for row in reply["bugs"]
    )
    shown = [bug for bug in keys.keys[exercise.id].book.bugs if bug.shown_by_values]
    return ExerciseAudit(
        exercise=exercise.id,
        stub_score=graded.stub.score,
        reference_score=graded.reference.score,
        max_score=graded.reference.max_score,
        checks=tuple(check.id for check in graded.reference.checks),
        bugs=bugs,
        pairs={word: reply["pairs"].get(word, 0) for word in PAIR_WORDS},
        margin=min((bug.margin64 or 0.0 for bug in shown), default=float("inf")),
        margin32=min((bug.margin32 or 0.0 for bug in shown), default=float("inf")),
        variants=graded.variants,
        mutants=reply["mutants"],
        survivors=tuple(reply["survivors"]),
        complaints=_complaints(exercise, _solution(folder, exercise), graded.reference),
    )


def _complaints(exercise: Exercise, solution: str, reference: ExerciseResult) -> tuple[str, ...]:
    lines = []
    if _LESSON not in solution:
        lines.append("the solution holds no lesson")
    if abs(reference.max_score - exercise.points) > 1e-6:
        lines.append(f"{reference.max_score:g} of {exercise.points:g} points can be reached")
    lines += [f"{t.name} gives no points" for t in exercise.targets if not t.points.total]
    return tuple(lines)


def _try_variants(
    folder: CourseFolder,
    exercise: Exercise,
    key: AnswerKey,
    variants: Path | None,
    grade: Callable[[Source], Run],
) -> tuple[VariantTrial, ...]:
    limit = folder.course.limits.source_kib * 1024
    trials = []
    paths = sorted((variants / exercise.id).glob("*.py")) if variants else []
    for path in paths:
        source = read_source(path, limit)
        text = source.units[0][1] if source.units else ""
        allowed = set(_LOSES.findall(text))
        run = grade(source)
        lost = tuple(
            check.id
            for check in run.result.checks
            if check.status is not Status.PASSED and check.id.split("/", 2)[2] not in allowed
        )
        trials.append(VariantTrial(path.stem, lost, _deviation(folder, key, run, bool(allowed))))
    return tuple(trials)


def _deviation(folder: CourseFolder, key: AnswerKey, run: Run, float32: bool) -> float:
    """The greatest distance of outputs and gradients from the key, in tolerances.

    A variant that computes in float32 is measured in float32's tolerance.
    """
    tolerances = folder.course.tolerances
    tolerance = tolerances.float32 if float32 else tolerances.float64
    factories = {
        t.name for t in folder.course.exercise(key.plan.exercise).targets if t.kind == "factory"
    }
    most = 0.0
    for call in key.plan.calls:
        answer = (
            run.answers32.get(call.id) if call.id in run.answers32 else run.answers.get(call.id)
        )
        if answer is None or call.target in factories or call.action not in ("forward", "gradient"):
            continue
        for name, expected in key.answers[call.id].tensors.items():
            came = answer.tensors.get(name)
            compared = name.startswith(("output/", "grad/"))
            if compared and came is not None and came.shape == expected.shape:
                most = max(most, distance(came, expected, tolerance))
    return most
