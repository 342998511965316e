"""A target beside right parts: what it uses of its own file is replaced where that is wrong.

A mistake costs once. A target that uses a wrong one is run a second time, in a child of its own
where correct parts stand in place of those that are wrong; it is judged by the run that gives it
more points. Of the stand-ins' file the child gets the parts alone, and what they need: never the
target itself.
"""

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from grader.checks.judge import check_target
from grader.compare.evidence import Evidence
from grader.compare.retry import same_outputs
from grader.course.models import Exercise, Target
from grader.execute.session import Job, SharedChild
from grader.grading.echoes import causes_of
from grader.grading.jobs import Standins
from grader.grading.rounds import Rounds
from grader.handin.forbidden import find_forbidden
from grader.handin.read import Source
from grader.records.answers import AnswerStatus
from grader.records.calls import PLAIN
from grader.records.results import CheckResult
from grader.worker.loading import STANDIN_LABEL
from grader.worker.protocol import Action

_STEM = "right_parts"  # what the parts are imported as
_LAST = "~right_parts"  # the label of the import, behind those of all files and cells


@dataclass(frozen=True)
class Beside:
    """A target that was run beside right parts."""

    rounds: Rounds
    parts: Sequence[str]  # the targets that others stand in for


@dataclass(frozen=True)
class Checked:
    """What the checks of a target look at, and what they come to."""

    evidence: Evidence
    checks: Sequence[CheckResult]

    @property
    def lacking(self) -> float:
        """How many points are not earned, rounded."""
        return round(sum(check.max_score - check.score for check in self.checks), 6)


def _checked(exercise: Exercise, source: Source, rounds: Rounds, target: Target) -> Checked:
    evidence = Evidence(
        rounds.course,
        exercise,
        target,
        rounds.key,
        source,
        rounds.answers,
        rounds.answers32,
        rounds.firsts[target.earlier].greeting,
        find_forbidden(source, exercise.forbidden_for(target), [target.name]),
    )
    return Checked(evidence, check_target(evidence))


def beside_right_parts(
    exercise: Exercise, source: Source, rounds: Rounds, standins: Standins
) -> tuple[dict[str, Checked], dict[str, Beside]]:
    """Check each target, and return with that the ones that were run beside right parts.

    Those earn no less there than beside the submission's own. What earns as much has mistakes of
    its own, which show better there, if it comes to an end and to other outputs.
    """
    first = {t.name: _checked(exercise, source, rounds, t) for t in exercise.targets}
    again, found = dict[str, Checked](), dict[str, Beside]()
    for target in exercise.targets:
        parts = [one for one in causes_of(exercise, source, target.name) if first[one].lacking]
        before = first[target.name]
        if not parts or not before.lacking or _ends_unwritten(before.evidence):
            continue
        text = parts_of(standins.sources.get(exercise.stem, ""), exercise, parts)
        if not text:
            continue
        other = _run(rounds, target, text, parts)
        own = _checked(exercise, source, other, target)
        shows_more = own.lacking == before.lacking and (
            _ends(own.evidence) and _differs(own.evidence, before.evidence)
        )
        if own.lacking < before.lacking or shows_more:
            again[target.name], found[target.name] = own, Beside(other, parts)
    return first | again, found


def parts_of(text: str, exercise: Exercise, names: Collection[str]) -> str:
    """Return what some targets need of the text of stand-ins, "" where one is not there.

    No other target is kept, nor anything that only others need.
    """
    tree = ast.parse(text)
    others = {target.name for target in exercise.targets}.difference(names)
    defined = {name: node for node in tree.body for name in _defined(node)}
    if not defined.keys() >= set(names):
        return ""
    needed, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name in needed or name in others or name not in defined:
            continue
        needed.add(name)
        waiting += [n.id for n in ast.walk(defined[name]) if isinstance(n, ast.Name)]
    kept = [
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom) or needed.intersection(_defined(node))
    ]
    return ast.unparse(ast.Module(kept, []))


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement defines at the top of a module."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [one.id for one in targets if isinstance(one, ast.Name)]
    return []


def _run(rounds: Rounds, target: Target, text: str, parts: Sequence[str]) -> Rounds:
    """Run the calls of a target in children where parts of the submission are replaced."""
    kinds = {call.earlier for call in rounds.key.plan.of_target(target.name)}
    jobs = {kind: _with_parts(job, text, parts) for kind, job in rounds.jobs.items()}
    other = Rounds(
        rounds.course,
        rounds.limits,
        rounds.key,
        rounds.warm,
        {kind: job for kind, job in jobs.items() if kind in kinds},
        rounds.clock,
        uses={target.name: ()},
        only=target.name,
        trained=rounds.trained,  # what took long is not trained again
    )
    rounds.kept.make_room()
    alone = SharedChild()
    alone.close()  # no child of these is kept
    other.run(alone)
    return other


def _with_parts(job: Job, text: str, parts: Sequence[str]) -> Job:
    """Return a job that imports right parts behind the submission's own text."""
    last = (_LAST, f"from {_STEM} import {', '.join(parts)}")
    earlier = {**job.earlier, _STEM: [(f"{STANDIN_LABEL}{_STEM}", text)]}
    return replace(job, units=[*job.units, last], earlier=earlier)


def _ends_unwritten(evidence: Evidence) -> bool:
    """Whether each call ends where the target's own text says that it is not written yet."""
    if (at := evidence.unwritten_at) is None:
        return False
    due = (evidence.answers[call.id].error for call in evidence.calls if not call.refused)
    ends = (error.frames[-1] if error and error.frames else None for error in due)
    return all(end is not None and (end.label, end.line) == at for end in ends)


def _differs(one: Evidence, other: Evidence) -> bool:
    """Whether some output is another one: else the parts may not be what the code uses."""
    calls = [call for call in one.calls if call.action is Action.FORWARD]
    return not all(same_outputs(one.answers[c.id], other.answers[c.id]) for c in calls)


def _ends(evidence: Evidence) -> bool:
    """Whether every ordinary case comes to an end."""
    calls = evidence.numeric_calls(Action.FORWARD, PLAIN)
    ended = [evidence.answers[call.id].status is AnswerStatus.OK for call in calls]
    return bool(ended) and all(ended)
