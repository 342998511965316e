"""Grades correct submissions: what they lose, and how far their answers are from the key."""

import re
from collections.abc import Iterator
from pathlib import Path

from grader.audit.records import Deviation, VariantTrial
from grader.compare.arrays import distance
from grader.course.limits import Tolerance
from grader.course.models import Exercise
from grader.grading.engine import Engine
from grader.grading.exercise import Run
from grader.handin.read import Source, Submission, read_source, read_submission
from grader.records.key import AnswerKey
from grader.records.results import Status
from grader.worker.names import Group, compared
from grader.worker.protocol import Action, TargetKind

_LOSES = re.compile(r"^# loses: (\S+)$", re.MULTILINE)  # what a correct variant may lose
_GROUPS = {Action.FORWARD: Group.OUTPUT, Action.GRADIENT: Group.GRADIENT}


def grade_alone(engine: Engine, exercise: Exercise, source: Source) -> Run:
    """Grade one text of an exercise, beside the references of the earlier ones."""
    folder = engine.folder
    limit = folder.course.limits.source_kib * 1024
    rest = read_submission(folder.solutions, folder.course, [exercise], limit).sources
    return engine.run(exercise, Submission({**rest, exercise.id: source}))


def try_variant(engine: Engine, exercise: Exercise, path: Path) -> VariantTrial:
    """Grade a file that is right; what it may lose, its comments say.

    A variant that may lose something computes in float32, and is measured in float32's tolerance.
    """
    source = read_source(path, engine.folder.course.limits.source_kib * 1024)
    allowed = set(_LOSES.findall(source.units[0][1] if source.units else ""))
    run = grade_alone(engine, exercise, source)
    lost = tuple(
        check.id
        for check in run.result.checks
        if not (check.status is Status.PASSED or check.waits or check.id.in_target in allowed)
    )
    precision = "float32" if allowed else "float64"
    tolerance: Tolerance = getattr(engine.folder.course.tolerances, precision)
    apart = _distances(exercise, engine.keys.keys[exercise.id], run, tolerance)
    most, where = max(apart, default=(0.0, ""))
    return VariantTrial(path.stem, lost, Deviation(most, precision, where if most else ""))


def _distances(
    exercise: Exercise, key: AnswerKey, run: Run, tolerance: Tolerance
) -> Iterator[tuple[float, str]]:
    """How far each output and gradient is from the key; a factory draws its own parameters."""
    factories = {target.name for target in exercise.targets if target.kind is TargetKind.FACTORY}
    for call in key.plan.calls:
        evidence, group = run.evidence.get(call.target), _GROUPS.get(call.action)
        if evidence is None or group is None or call.target in factories:
            continue
        answer = evidence.answers32.get(call.id, evidence.answers[call.id])
        for name, expected in compared(key.answers[call.id].tensors, group).items():
            came = answer.tensors.get(name)
            if came is not None and came.shape == expected.shape:
                yield distance(came, expected, tolerance), f"{call.id} {name}"
