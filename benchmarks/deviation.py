"""How far right answers are from the key, in tolerances: the references and every variant."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.compare.arrays import distance
from grader.course.load import CourseFolder
from grader.course.models import Exercise, Target, Tolerance
from grader.execute.answers import Answer, AnswerStatus
from grader.execute.launch import WarmProcess
from grader.execute.session import Job, collect
from grader.grading import Standins
from grader.key.store import AnswerKey
from grader.plan.records import Call
from grader.submission import read_source

_LOSES = "# loses:"  # a variant that says so works in float32 somewhere
_GROUPS = ("output", "grad")
_LIMIT = 1 << 21  # bytes of a file


@dataclass(frozen=True)
class Deviation:
    """The greatest distance between one file's answers and the key."""

    file: str
    precision: str  # of the tolerance: "float64" or "float32"
    most: float  # in tolerances; infinite where an answer is missing or of another shape
    where: str  # call and tensor


def measure_deviations(
    folder: CourseFolder, variants: Path, keys: dict[str, AnswerKey], warm: WarmProcess
) -> list[Deviation]:
    """Return the deviation of each reference and each variant of each exercise."""
    standins = Standins.of(folder)
    return [
        _measure(folder, exercise, keys[exercise.id], path, standins, warm)
        for exercise in folder.course.exercises
        for path in [
            folder.solutions / exercise.file,
            *sorted((variants / exercise.id).glob("*.py")),
        ]
    ]


def _measure(
    folder: CourseFolder,
    exercise: Exercise,
    key: AnswerKey,
    path: Path,
    standins: Standins,
    warm: WarmProcess,
) -> Deviation:
    source = read_source(path, _LIMIT)
    lax = any(_LOSES in text for _, text in source.units)
    precision = "float32" if lax else "float64"
    calls = _numeric_calls(exercise, key)
    earlier = standins.earlier(folder.course.earlier(exercise))
    job = Job(exercise.stem, source.units, source.notebook, earlier, {}, exercise.forbids)
    limits = folder.course.limits
    answers = dict(collect(warm, job, calls, key.payload, limits).answers)
    if lax:  # a layer made in float32 takes no float64: the grader asks such a one again
        again = [c for c in calls if answers[c.id].status is AnswerStatus.RAISED]
        answers |= collect(warm, job, again, key.payload, limits, "float32").answers
    tolerance = getattr(folder.course.tolerances, precision)
    most, where = max(_distances(calls, key, answers, tolerance), default=(0.0, ""))
    return Deviation(f"{path.parent.name}/{path.name}", precision, most, where)


def _numeric_calls(exercise: Exercise, key: AnswerKey) -> list[Call]:
    """Return the calls of the numeric cases of the targets whose values are graded."""
    return [
        call
        for target in exercise.targets
        if _has_values(target)
        for case in key.plan.numeric_cases(target.name)
        for call in key.plan.of_target(target.name)
        if call.id in (f"{target.name}/{case.id}/{action}" for action in ("forward", "gradient"))
    ]


def _has_values(target: Target) -> bool:
    """Tell whether values can be expected: a factory draws its own parameters."""
    return target.kind != "factory"


def _distances(
    calls: Sequence[Call], key: AnswerKey, answers: dict[str, Answer], tolerance: Tolerance
) -> Iterator[tuple[float, str]]:
    for call in calls:
        for name, expected in key.answers[call.id].tensors.items():
            if name.partition("/")[0] not in _GROUPS:
                continue
            actual = answers[call.id].tensors.get(name)
            same = actual is not None and actual.shape == expected.shape
            apart = distance(actual, expected, tolerance) if same else float("inf")  # type: ignore[arg-type]
            yield apart, f"{call.id} {name}"
