"""What the checks of a target look at, and what a judgement comes to."""

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from grader.compare.signature import sign
from grader.compare.vocabulary import Vocabulary, vocabulary_of
from grader.course.expressions import NUMBER
from grader.course.models import Course, Exercise, Target
from grader.handin.forbidden import Forbidden
from grader.handin.read import Source, bases_of, is_read, method_names, unwritten_at
from grader.records.answers import Answer, AnswerStatus, Greeting, StudentError
from grader.records.calls import Call, DrawnCase
from grader.records.ids import CallId
from grader.records.key import AnswerKey
from grader.records.results import Facts, Place, ShownCase, Status
from grader.records.signatures import Signature
from grader.records.text import clean
from grader.worker.frameworks import FrameworkName
from grader.worker.names import Drew, Group
from grader.worker.protocol import Action, Role, RoleKind

_NO_ARGUMENT = "unexpected keyword argument"  # as Python says it
_PARTS = 2  # of a norm: a weight and a bias


@dataclass(frozen=True)
class Evidence:
    """All that the checks of one target may look at."""

    course: Course
    exercise: Exercise
    target: Target
    key: AnswerKey
    source: Source
    answers: Mapping[str, Answer]  # by call, from a child whose default dtype is float64
    answers32: Mapping[str, Answer]  # the same in float32; empty where nothing asked for it
    greeting: Greeting | None
    forbidden: Sequence[Forbidden]
    judged: dict[tuple[str, Group], "Judgement"] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def framework(self) -> FrameworkName:
        """In whose terms the exercise is written."""
        return self.course.framework_of(self.exercise)

    @property
    def words(self) -> Vocabulary:
        """What the framework calls things."""
        return vocabulary_of(self.framework)

    @cached_property
    def roles(self) -> dict[str, Role]:
        """The parameters of the reference by name; their sizes are those of one call."""
        return {role.name: role for call in self.calls for role in call.roles}

    def parts_of_norms(self, names: Collection[str]) -> int:
        """How many parameters of each norm some names are; 0 where others are among them."""
        roles = self.roles
        vectors = all(n in roles and roles[n].kind is RoleKind.VECTOR for n in names)
        norms = {name.rpartition(".")[0] for name in names}
        each, rest = divmod(len(names), len(norms)) if norms else (0, 0)
        return 0 if rest or not vectors else each

    def or_bare_norms(self, answers: Collection[Answer]) -> str:
        """Say so where nothing but norms' parameters is missing: they may be there without them."""
        sought = {one.name for answer in answers for one in answer.info.sought}
        return self.words.bare_norm if self.parts_of_norms(sought) == _PARTS else ""

    @cached_property
    def calls(self) -> list[Call]:
        """The target's calls, in order."""
        return self.key.plan.of_target(self.target.name)

    @cached_property
    def seen(self) -> Signature:
        """The signature of the submission's answers, without the checks."""
        return sign(self.calls, self.answers, self.key.plan.tensors, [])

    @cached_property
    def right(self) -> Signature:
        """The signature of the right answers."""
        return sign(self.calls, self.key.answers, self.key.plan.tensors, [])

    def draws_otherwise(self, call: Call) -> bool:
        """Whether a call draws by more than dropout, where dropout is due."""
        due, came = self.key.answers[call.id].info, self.answers[call.id].info
        return due.drew is Drew.DROPOUT and came.drew is Drew.MORE

    def is_random(self, call: Call) -> bool:
        """Whether a second run gives other numbers, though the reference draws none."""
        return self.answers[call.id].info.random and not self.key.answers[call.id].info.random

    @property
    def has_to_draw(self) -> bool:
        """Whether numbers are to be drawn in some call, other than by dropout."""
        return any(call.action is Action.SAMPLE for call in self.calls)

    @cached_property
    def unwritten_at(self) -> tuple[str, int] | None:
        """The label and line at which the target's text says that it is not written yet."""
        return unwritten_at(self.source, self.target.name, ("__init__", self.words.method))

    @property
    def unwritten(self) -> bool:
        """Whether the submission's own code says at each call, or in its text, that it is so."""
        due = (call.id for call in self.calls if not call.refused)
        found = [self.answers[call] for call in due if call in self.answers]
        came = (one for one in found if one.status is AnswerStatus.OK)
        if self.unwritten_at and all(one.is_of("NoneType") for one in came):
            return True
        errors = [one.error for one in found]
        return all(e is not None and e.type == "NotImplementedError" and e.frames for e in errors)

    def meant_by(self, name: str) -> str:
        """Return what the file defines in place of a name of the exercise, "" where nothing is."""
        known = (*self.course.earlier(self.exercise), self.exercise)
        own = {t.name for exercise in known for t in exercise.targets}  # not to be renamed
        claimed = self.greeting.names if self.greeting is not None else []
        names = [n for n in claimed if n not in own and n in self.source.words]
        return next(iter(difflib.get_close_matches(name, names, 1, cutoff=0.6)), "")

    def reads(self, argument: str) -> bool:
        """Whether the target's code reads an argument of that name."""
        return is_read(self.source, argument, self.target.name)

    def calls_of(self, name: str) -> list[Call]:
        """Return the calls that a property asked for, in order."""
        return self.key.plan.of_property(self.target.name, name)

    def call_of(self, name: str) -> Call:
        """Return the one call that a property asked for."""
        (call,) = self.calls_of(name)
        return call

    @property
    def first_call(self) -> Call:
        """The outputs of the first ordinary case."""
        return self.key.plan.call(CallId.first(self.target.name))

    @property
    def bound_call(self) -> Call:
        """The first outputs with the reference's parameters, if there are any.

        A factory's first calls are of its own values; one from correct parts tells what is played.
        A call that raises tells nothing, where another one of its group comes to an end.
        """
        forward = [call for call in self.calls if call.roles and call.action is Action.FORWARD]
        first = next(iter(forward), self.first_call)
        alike = (call for call in forward if self.case(call).group == self.case(first).group)
        ended = (call for call in alike if self.answers[call.id].status is AnswerStatus.OK)
        return next(ended, first)

    def own_name(self, role: str) -> str:
        """What the submission calls a role's parameter; a fused one, as the course does."""
        bound = self.answers[self.bound_call.id].info.bound
        own = next((one.name for one in bound if list(one.roles) == [role]), "")
        known = self.roles.get(role)
        return clean(own, 60) or (self.words.name_of(known) if known else role)

    @property
    def unknown_options(self) -> list[str]:
        """The options that the submission's signature does not have, in the order of the calls."""
        return list(dict.fromkeys(name for call in self.calls for name in self.refused(call)))

    @cached_property
    def _unconstructed(self) -> bool:
        """Whether a class of the file lacks the constructor that would take options."""
        name = self.target.name
        bases, methods = bases_of(self.source, name), method_names(self.source, name)
        return bases in (["Module"], ["Layer"]) and bool(methods) and "__init__" not in methods

    def refused(self, call: Call) -> list[str]:
        """Return the options of a call that the submission's signature does not have."""
        error = self.answers[call.id].error
        if error is None or _NO_ARGUMENT not in error.message or self._unconstructed:
            return []
        named = [*call.options, call.generator, call.device]
        return [name for name in named if name and f"'{name}'" in error.message]

    def numeric_calls(self, action: Action, group: str | None = None) -> list[Call]:
        """Return the calls of the numeric cases, of one group or of all, smallest first."""
        return list(self.key.numeric_calls(self.target.name, action, group))

    def case(self, call: Call) -> DrawnCase:
        """Return the case of a call."""
        return self.key.plan.case(call.target, call.case)


class Fault(StrEnum):
    """What is wrong with an answer, or why none came."""

    TYPE = "type"
    SHAPE = "shape"
    DTYPE = "dtype"
    FINITE = "finite"
    VALUES = "values"
    UNWRITTEN = "unwritten"  # the target, or what it needs, is not written yet
    INCOMPLETE = "incomplete"  # a file or a method that it needs is not there
    MISSING = "missing"
    RAISED = "raised"
    UNBOUND = "unbound"  # parameters cannot be filled in
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    WAITS = "waits"  # for a training that nobody asked for


NOT_THERE = (Fault.UNWRITTEN, Fault.INCOMPLETE, Fault.MISSING)  # nothing could be called


@dataclass(frozen=True)
class Judgement:
    """What one judgement came to."""

    status: Status
    message: str = ""  # one plain sentence
    detail: str = ""  # what follows it after a colon
    next_step: str = ""
    expected: Facts = Facts()
    actual: Facts = Facts()
    case: DrawnCase | None = None
    precision: str = "float64"
    fault: Fault | None = None  # of the answer; None where it says nothing of this one
    place: Place | None = None  # where the submission raised what the message tells
    trap: str = ""  # how the lesson's passage on it begins
    alone: bool = False  # it is so whatever the values are

    @property
    def passed(self) -> bool:
        """Whether the answer is right, at some precision."""
        return self.status is Status.PASSED


PASSED = Judgement(Status.PASSED)
BY_HAND = "work the smallest case through by hand, line by line"
SEE_RUN = (
    "`grade explain` shows your run step by step: look for the first that is not as you expect"
)
UNKNOWN = (BY_HAND, SEE_RUN)  # steps where nothing better is known, of numbers and of tensors
COMPARE_SHAPES = (
    "print the shape after each line of your code and compare it with the lesson's table"
)
LOST_AXIS = (
    "an axis of length one is lost: `squeeze()` without an axis takes away each of these, so give "
    "it the axis, or index in its place"
)
NOT_FINITE = (
    "find the first line that makes one: a division by zero, 0 * inf, inf - inf (as in a row of "
    "nothing but -inf), a log of zero, or an exp that overflows"
)
READ_LINE = "read the line, and print the shapes just before it"
NEW_TENSOR = (
    "make a new tensor instead of using +=, `x[...] =`, inplace=True or a method that ends in _"
)
FOLLOW_HINT = "follow the hint above"
COUNT_VALUES = (
    "count the values on the right of the =: a function gives as many as it returns, a tensor as "
    "many as its first axis is long"
)
SEEK_LAYER = "look for a layer that is missing or has another size: the stub's docstring lists them"
RESIZE = "look at the sizes where the layer is made"
SPLIT_BEFORE = "make the layer for the whole of its input, call it on that, and split what comes"
# steps that give way to a better one
NO_IDEA = (*UNKNOWN, COMPARE_SHAPES, READ_LINE, COUNT_VALUES, SEEK_LAYER, RESIZE, FOLLOW_HINT)


def unknown_step(target: Target) -> str:
    """Return what to do where nothing better is known."""
    return SEE_RUN if makes_tensors(target) else BY_HAND


def makes_tensors(target: Target) -> bool:
    """Whether a run has something to show: of plain numbers and truths nothing is recorded."""
    return any(spec.kind not in (NUMBER, "bool") for spec in target.output_specs.values())


REFUSALS = ("ValueError", "AssertionError")  # exceptions by which code refuses what it is given


def own_refusal(evidence: Evidence, error: StudentError) -> bool:
    """Whether a line of this file's own raised it on purpose."""
    frame = error.frames[-1] if error.frames else None
    line = evidence.source.line(frame.label, frame.line) if frame else ""
    return bool(re.match(r"\s*assert\b|(.*:)?\s*raise\b", line))


def show_case(target: Target, case: DrawnCase) -> ShownCase:
    """Return a case as a student sees it, with the inputs that it gives itself."""
    declared = next((one.inputs for one in target.cases if one.name == case.name), {})
    given = {
        name: value for name, value in declared.items() if isinstance(value, int | float | list)
    }
    instead = {target.inputs.get(name) for name in given}  # of a dim that is an argument's value
    dims = {name: size for name, size in case.dims.items() if name not in instead}
    return ShownCase(case.name, dims, case.construct, case.options, given or None)
