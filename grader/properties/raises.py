"""A case that must be refused."""

from typing import Literal

from pydantic import Field

from grader.compare.evidence import PASSED, Evidence, Judgement, own_refusal
from grader.compare.explain import describe_student_error, explain_status, explain_stub
from grader.compare.lost import unraised
from grader.compare.vocabulary import Vocabulary
from grader.course.cases import Case
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind
from grader.records.answers import Answer, AnswerStatus, StudentError
from grader.records.calls import DrawnCase
from grader.records.results import Status
from grader.records.text import clean, with_article
from grader.worker.protocol import Action

_THOSE_FIRST = "mend those first: whether it raises {} shows after that"
_RAISE = "write `raise` in place of `return`"


class Raises(Kind):
    """A case that must be refused, at construction or in the call."""

    kind: Literal["raises"]
    error: str = Field(description="the exception's name; one derived from it will do")
    case: Case = Field(description="that must be refused")
    built: bool = Field(
        default=False, description="it is due when the module is built, and not in its `forward`"
    )

    @property
    def error_due(self) -> str:
        """The exception that its call ends in where all is right."""
        return self.error

    def plan(self, planner: TargetPlanner) -> None:
        """Add a call that should end in an exception."""
        drawn = planner.draw_cases(self.case, self.name, numeric=False)[0]
        planner.add(planner.call(drawn, self.case, self.name, Action.FORWARD, refused=True))

    def deviation(self, evidence: Evidence) -> str:
        """Another exception, or none."""
        call = evidence.call_of(self.name)
        answer, name = evidence.answers[call.id], evidence.case(call).name
        if answer.is_of(self.error):
            return f"for {name} {with_article(self.error)} is returned, and not raised"
        if not self._is_raised(answer) and unraised(evidence, self.error):
            return f"for {name} {with_article(self.error)} is made, and not raised"
        if answer.status is AnswerStatus.OK:
            return f"{name} goes unnoticed, where a {self.error} is asked for"
        if answer.error is None or "NotImplementedError" in answer.error.bases:
            return ""
        if self._is_raised(answer):
            return f"{name} goes unnoticed until the {evidence.words.noun} is called"
        unknown = set(evidence.unknown_options) & set(call.options)
        unfit = evidence.answers[evidence.first_call.id].status is AnswerStatus.UNBOUND
        untold = unfit and not own_refusal(evidence, answer.error)  # no other case was run
        if unknown or untold or self._ends_as_usual(evidence, answer.error):
            return ""  # it fails for a reason of another kind, or may do so
        came = clean(answer.error.type, 80)
        return f"{with_article(came)} in place of {with_article(self.error)} for {name}"

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        call = evidence.call_of(self.name)
        answer = evidence.answers[call.id]
        case = evidence.case(call)
        if answer.status is AnswerStatus.RAISED and answer.error is not None:
            if self._is_raised(answer):
                late = self.built and _in_call(answer.error, evidence.words)
                return self._late(case, evidence.words) if late else PASSED
            written = evidence.answers[evidence.first_call.id].status is AnswerStatus.OK
            if answer.error.type == "NotImplementedError" and not written:
                return explain_status(evidence, answer, case)
            if self._ends_as_usual(evidence, answer.error):
                return Judgement(
                    Status.FAILED,
                    f"{case.name} should raise {self.error}; it fails as the other cases do",
                    next_step=unraised(evidence, self.error) or _THOSE_FIRST.format(self.error),
                    case=case,
                )
            said = describe_student_error(evidence, answer.error)
            message = f"{case.name} should raise {self.error}, it raised {said}"
        elif answer.is_of(self.error):
            message = f"{case.name} should raise {self.error}, which is returned"
        elif evidence.unwritten and (stub := explain_stub(evidence)):
            return stub
        elif answer.status is AnswerStatus.OK:
            message = f"{case.name} goes unnoticed: it should raise {self.error}"
        else:
            return explain_status(evidence, answer, case)
        return Judgement(Status.FAILED, message, next_step=self._step(evidence, answer), case=case)

    def _is_raised(self, answer: Answer) -> bool:
        return answer.error is not None and self.error in answer.error.bases

    def _step(self, evidence: Evidence, answer: Answer) -> str:
        """What to do where it is not raised, or something else is."""
        if answer.is_of(self.error):
            return _RAISE
        if idle := unraised(evidence, self.error):
            return idle
        if answer.error is not None and answer.error.type == "AssertionError":
            return f"raise {self.error} with a helpful text in place of the assert"
        return f"check for it and raise {self.error} with a helpful text"

    def _ends_as_usual(self, evidence: Evidence, error: StudentError) -> bool:
        """Whether the case ends in an exception that has nothing to do with it.

        The first case ends in one of its type, or another one at the same line, which refuses
        nothing.
        """
        usual = evidence.answers[evidence.first_call.id].error
        due = [call for call in evidence.calls if not call.refused]
        others = [evidence.answers[call.id].error for call in due if call.id in evidence.answers]
        where = (error.type, error.frames[-1:])
        alike = any(one and (one.type, one.frames[-1:]) == where for one in others)
        at_once = bool(error.frames) and alike and not own_refusal(evidence, error)
        return at_once or (usual is not None and usual.type == error.type)

    def _late(self, case: DrawnCase, words: Vocabulary) -> Judgement:
        return Judgement(
            Status.FAILED,
            f"{case.name} goes unnoticed until the {words.noun} is called: `{words.method}` raises "
            f"{self.error}",
            next_step="check for it in `__init__`",
            case=case,
        )


def _in_call(error: StudentError, words: Vocabulary) -> bool:
    """Whether an exception comes of a call of the module, which was built without one."""
    called = tuple(f".{name}" for name in (words.method, words.before) if name)
    return bool(error.frames) and error.frames[0].name.endswith(called)
