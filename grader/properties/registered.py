"""The parameters that the framework knows of."""

from collections.abc import Container
from dataclasses import replace
from typing import ClassVar, Literal

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.compare.outcomes import sound_calls
from grader.compare.sizes import fitting
from grader.compare.vocabulary import Vocabulary
from grader.course.models import Exercise, Target
from grader.properties.base import Kind, answers_of, needs_parameters
from grader.properties.trained import judge_idle
from grader.records.answers import AnswerStatus, Info
from grader.records.calls import Call
from grader.records.ids import CallId
from grader.records.results import Facts, Status
from grader.records.text import clean
from grader.records.text import counted as numbers
from grader.worker.protocol import Action

_SHOWN = 8  # parameters that are named


class Registered(Kind):
    """The module registers exactly the parameters that the reference has, and hides no state."""

    claim: ClassVar[bool] = True

    kind: Literal["registered"]

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """There have to be parameters."""
        return needs_parameters(target)

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        words = evidence.words
        for call in sound_calls(evidence, Action.FORWARD):
            answer, expected = answers_of(evidence, [call])[call.id], evidence.key.answers[call.id]
            if answer.status is not AnswerStatus.OK:
                return explain_status(evidence, answer, evidence.case(call))
            found = (
                _loose(answer.info, words)
                or _sublayers(answer.info, expected.info, words)
                or _counted(evidence, call, answer.info)
            )
            if found is not None:
                found = judge_idle(evidence, evidence.case(call)) or found
                return replace(found, case=evidence.case(call))
        return _hidden(evidence)


def _loose(info: Info, words: Vocabulary) -> Judgement | None:
    """Judge what hangs on the module where the framework does not see it."""
    if not info.loose:
        return None
    first = info.loose[0]
    kind = first.what if first.what in ("tensor", "module") else "parameter"
    message = f"`{clean(first.path, 80)}` holds a {kind} that is not registered"
    return Judgement(Status.FAILED, message, next_step=words.keep[kind])


def _hidden(evidence: Evidence) -> Judgement:
    """Judge what the output depends on, wherever it is kept."""
    for call in sound_calls(evidence, Action.GRADIENT):
        count = answers_of(evidence, [call])[call.id].info.hidden
        if count:
            return Judgement(
                Status.FAILED,
                f"the output depends on {count} trained numbers that the {evidence.words.noun} "
                "does not register",
                next_step=evidence.words.keep["parameter"],
                case=evidence.case(call),
            )
    return PASSED


def _sublayers(info: Info, expected: Info, words: Vocabulary) -> Judgement | None:
    if info.given == expected.given:
        return None
    return Judgement(
        Status.FAILED,
        f"the given sublayers are not registered on the {words.noun}",
        next_step="store each given sublayer as an attribute",
    )


def _given(evidence: Evidence, options: Container[str]) -> str:
    """Say which arguments are given, since the code has another default than is asked for.

    The first case alone tells it, and it is so in all but those whose `options` give them.
    """
    infos = [evidence.answers[c.id].info for c in evidence.numeric_calls(Action.FORWARD)]
    own = dict.fromkeys(one.name for info in infos for one in info.defaults)
    names = [f"`{clean(name, 60)}`" for name in own if name not in options]
    return f", where {' and '.join(names)} {'are' if names[1:] else 'is'} given" if names else ""


def _counted(evidence: Evidence, call: Call, info: Info) -> Judgement | None:
    gradient = evidence.answers.get(str(CallId(call.target, call.case, Action.GRADIENT)))
    idle = {one.name for one in gradient.info.untrained} if gradient else set[str]()
    found = counted(info, evidence.key.answers[call.id].info, evidence.words, idle)
    given = _given(evidence, evidence.case(call).options) if found else ""
    return found and replace(found, message=f"{found.message}{given}")


def counted(
    info: Info, expected: Info, words: Vocabulary, idle: Container[str] = ()
) -> Judgement | None:
    """Judge how many numbers are trained; None where they are as many as are due.

    What is `idle`, for no gradient reaches it, is shown first.
    """
    count, due = info.registered, expected.registered
    if count == due:
        return None
    more = "more" if (count or 0) > (due or 0) else "fewer"
    as_due = fitting(info.names, [one.shape for one in expected.names])
    played = {one.name for one in info.bound} or {one.name for one, fits in as_due if fits}
    # what plays no part comes first
    names = sorted(info.names, key=lambda one: (one.name not in idle, one.name in played))
    shown, rest = names[:_SHOWN], names[_SHOWN:]
    shapes = ["(one of them again)" if n.name in info.again else tuple(n.shape) for n in shown]
    named = ", ".join(
        f"`{clean(one.name, 60)}` {shape}" for one, shape in zip(shown, shapes, strict=True)
    )
    return Judgement(
        Status.FAILED,
        f"the {words.noun} registers {numbers(count or 0, 'number')} as parameters"
        f"{' of its own' if info.given else ''}, {more} than the {due} it needs",
        f"it has {named or 'nothing'}{', and others' if rest else ''}",
        _step(info, due or 0, words),
        Facts(parameters=due),
        Facts(parameters=count),
    )


def _step(info: Info, due: int, words: Vocabulary) -> str:
    """What to do where other than the `due` numbers are registered."""
    if not due:
        return f"nothing is trained here: {words.fixed}"
    if (info.registered or 0) > due:
        return "look for a layer or a bias that nobody asked for, or a layer that is too wide"
    if info.again:
        again = clean(info.again[0], 60)
        return f"`{again}` is another parameter under a second name: make one for each"
    return "look for a layer that is shared, missing or too narrow, or a bias that is left out"
