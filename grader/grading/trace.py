"""A submission's own run, tensor by tensor, beside the steps that were expected."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grader.compare.covered import acts_in
from grader.compare.evidence import NOT_THERE, Evidence, Fault, Judgement, show_case
from grader.compare.occurrence import same_values
from grader.compare.outcomes import judge_call
from grader.compare.steps import calls_to_record, find_steps
from grader.compare.wording import broken_steps
from grader.course.models import Exercise, Target
from grader.grading.letters import alike_sizes, name_sizes
from grader.handin.written import written_at
from grader.records.answers import Answer
from grader.records.calls import Array, Call, DrawnCase
from grader.records.results import Diagnosis, ShownCase, State
from grader.records.text import as_arguments, as_inputs, clean
from grader.worker.names import (
    GIVEN,
    MOST_SEEN,
    UNFINISHED,
    Group,
    call_of,
    of_group,
    operation_of,
    place_of,
)

if TYPE_CHECKING:  # what was kept is shown without what grades
    from grader.grading.exercise import Run

_STOPPED = (*NOT_THERE, Fault.RAISED, Fault.UNBOUND)  # faults that end a run before its last step
_PRODUCT = re.compile(r"\b[a-z]\*[a-z]\b")
_AXES = re.compile(r"\[([^]]*)\]")
_ADDED = re.compile(r"\+ ([a-z])\b")
_SILENT = frozenset({"alias", "detach", "lift_fresh", "clone", "_unsafe_view"})
_UNASKED = frozenset({"expand", "view"})  # torch's matmul makes these by itself
_ASKED = frozenset({"expand", "expand_as", "flatten", "reshape", "unflatten", "view", "view_as"})


@dataclass(frozen=True)
class Made:
    """A tensor that the submission's run made."""

    operation: str  # its name in the framework
    written: str  # as the submission has it, "" where that is not known
    place: tuple[int, ...]  # where in the submission's text, () for nowhere
    call: str  # within which call of the submission's, "" where in none
    given: bool  # came in, and no operation made it
    values: Array
    steps: tuple[str, ...]  # named steps that are right, and whose values it holds


@dataclass(frozen=True)
class Step:
    """A named step of the lesson."""

    name: str
    values: Array  # as expected
    state: State
    held: Array | None  # what a variable of its name ended up with
    there: bool  # whether some tensor of the run has the expected values
    reshaped: bool = False  # whether some has them in another shape
    within: bool = False  # whether they lie side by side with others, along some's last axis

    @property
    def lacking(self) -> str:
        """What is known of a wrong step that no tensor of the run is taken for."""
        if self.there:
            return "its values appear, but others are used"
        if self.reshaped:
            return "its values appear in another shape"
        if self.within:
            return "its values appear as a part of a wider tensor"
        return "none of your tensors has its values"


@dataclass(frozen=True)
class Trace:
    """One call of one target, recorded."""

    target: str
    case: ShownCase
    sizes: Mapping[str, int]  # of its dims, those that axes have
    steps: tuple[Step, ...]
    levels: tuple[tuple[str, ...], ...]  # the steps' names; each level follows from those before
    made: tuple[Made, ...]
    products: frozenset[str]  # of dims, as the course writes them: "b*h"
    trouble: str = ""  # one sentence where the run ended early, or no step tells what is wrong
    expected: Mapping[str, Array] | None = None  # the outputs
    actual: Mapping[str, Array] | None = None
    stopped: bool = False  # the run ended before its last step
    full: bool = False  # more tensors came than are recorded
    given: tuple[str, ...] = ()  # arguments whose default may be another in the submission

    @property
    def shown_case(self) -> str:
        """The case in words: its name, its sizes and options, and what was given beyond it."""
        case = self.case
        sizes = as_arguments({**case.dims, **case.options})
        given = "".join(f"; `{name}` is given" for name in self.given if name not in case.options)
        return f"{case.name} ({sizes}{given}){as_inputs(case.inputs)}"

    def letters(self, shape: Sequence[int]) -> str:
        """Return a shape in the lesson's letters, "" where a size could be two of them.

        A letter stands twice only where it does so in a shape of the lesson's own, and side by side
        unless that is the shape.
        """
        named = self._letters(shape)
        shapes = [step.values.shape for step in self.steps]
        shapes += [array.shape for array in (self.expected or {}).values()]
        known = [self._letters(one) for one in shapes]
        twice = {letter for one in known for letter in _twice(one)}
        apart = any(f"{one}, {one}" not in named for one in _twice(named))
        return named if named in known or (_twice(named) <= twice and not apart) else ""

    def _letters(self, shape: Sequence[int]) -> str:
        return name_sizes(shape, self.sizes, self.products)

    @property
    def alike(self) -> list[str]:
        """The sizes for which shapes of steps have no letters."""
        bare = [one.values.shape for one in self.steps if not self.letters(one.values.shape)]
        return alike_sizes(bare, self.sizes, self.products)

    @property
    def behind(self) -> set[str]:
        """The steps that follow from a wrong one."""
        wrong = {step.name for step in self.steps if step.state is State.WRONG}
        places = [place for place, level in enumerate(self.levels) if wrong.intersection(level)]
        return {name for place in places[:1] for some in self.levels[place + 1 :] for name in some}

    @property
    def wrong(self) -> str:
        """The first step that went wrong, "" where none is known."""
        return next((step.name for step in self.steps if step.state is State.WRONG), "")


def _twice(letters: str) -> set[str]:
    """The sizes that a shape in letters has more than once."""
    sizes = letters.strip("()").split(", ")
    return {one for one in sizes if one and sizes.count(one) > 1}


def traces_of(
    exercise: Exercise,
    run: "Run",
    targets: Collection[str] | None = None,
) -> dict[str, Trace | None]:
    """Run targets of an exercise once more, all where none are named, and record them.

    A target that has no case which can be shown has None.
    """
    chosen = [t for t in exercise.targets if targets is None or t.name in targets]
    return _trace_all(chosen, run)


def trace_target(target: Target, run: "Run") -> Trace | None:
    """Run a target once more and record it; None where it has no case that can be shown."""
    return _trace_all([target], run)[target.name]


@np.errstate(all="ignore")  # as in grading
def _trace_all(targets: Sequence[Target], run: "Run") -> dict[str, Trace | None]:
    calls = {target.name: _calls_of(target, run) for target in targets}
    every = [call for some in calls.values() for call in some]
    answers = run.record(every)
    return {
        t.name: _trace(t, run, some, answers) if (some := calls[t.name]) else None for t in targets
    }


def _calls_of(target: Target, run: "Run") -> list[Call]:
    evidence = run.evidence.get(target.name)
    return calls_to_record(evidence) if evidence and evidence.source.units else []


def _trace(
    target: Target, run: "Run", calls: Sequence[Call], answers: Mapping[str, Answer]
) -> Trace:
    call, evidence = calls[0], run.evidence[target.name]
    case = evidence.case(call)
    key, recorded = evidence.key, answers[call.id]
    outcome = judge_call(evidence, call, Group.OUTPUT)
    stopped = outcome.fault in _STOPPED
    expected, states = key.steps(call.id), _states(evidence, run, calls, answers)
    right = {n: values for n, values in expected.items() if states.get(n) is State.RIGHT}
    made = _made(right, recorded, evidence)
    returned = _outputs(evidence.answers[call.id])
    unknown = State.NOT_REACHED if stopped and not _goes_on(made) else State.OPEN
    known = {n: states.get(n, unknown) for n in target.step_names if n in expected}
    steps = _steps(expected, known if stopped else _of_a_whole_run(known), recorded, returned)
    return Trace(
        target=target.name,
        case=show_case(target, case),
        sizes=_sizes(target, case),
        steps=steps,
        levels=tuple(map(tuple, target.step_levels)),
        made=made,
        stopped=stopped,
        full=len(of_group(recorded.tensors, Group.SEEN)) >= MOST_SEEN,
        products=_products(evidence.exercise),
        trouble=_trouble(outcome, evidence.words.noun) or _apart(outcome, steps),
        expected=_outputs(key.answers[call.id]),
        actual=returned,
        given=tuple(clean(one.name, 60) for one in evidence.answers[call.id].info.defaults),
    )


def _states(
    evidence: Evidence, run: "Run", calls: Sequence[Call], answers: Mapping[str, Answer]
) -> Mapping[str, State]:
    """What is known of each step, with what the bugs that are named break."""
    case, levels = evidence.case(calls[0]).name, evidence.target.step_levels
    told, broken = _steps_told(evidence, run.result.diagnoses, case)
    found = find_steps(evidence, {one.id: answers[one.id] for one in calls}, told)
    others = [name for name in broken if name not in told]
    return found.broken_by(others, levels).states if found else {}


def _steps_told(
    evidence: Evidence, diagnoses: Sequence[Diagnosis], case: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The steps that are told to be wrong, in order, and those that a target's bugs break.

    Of several bugs, those count that act in a case.
    """
    name = evidence.target.name
    told = next((d for d in diagnoses if d.target == name and d.bugs), None)
    if told is None:
        return (), ()
    bugs = [evidence.key.book.by_key(way) for way in told.ways]
    acting = [bug for bug in bugs if acts_in(evidence, bug.id, case)]
    broken = () if told.either else broken_steps(evidence, acting)
    if broken and told.step in {bug.step for bug in bugs}:
        return broken, broken
    return (told.step,) if told.step else (), broken


def _of_a_whole_run(states: Mapping[str, State]) -> Mapping[str, State]:
    """What is known of steps in a run that came to its end: another case ended before some."""
    return {n: State.OPEN if s is State.NOT_REACHED else s for n, s in states.items()}


def _goes_on(made: Sequence[Made]) -> bool:
    """Whether a run made more than the steps that are right: what else it reached is not known."""
    own = [one for one in made if not one.given]
    return bool(own) and not own[-1].steps


def _trouble(outcome: Judgement, noun: str) -> str:
    """Say why a run gave no values, "" where it gave some."""
    if outcome.fault is Fault.UNBOUND:
        return f"Your {noun} was made, and not run in this case: {outcome.message}"
    if outcome.fault is Fault.TYPE:
        return f"What your run returned cannot be compared: {outcome.message}"
    return f"Your run ended here: {outcome.message}" if outcome.fault in _STOPPED else ""


def _apart(outcome: Judgement, steps: Sequence[Step]) -> str:
    """Say how what came back is wrong, "" where a step tells it, or nothing is."""
    if outcome.passed or any(step.state is State.WRONG for step in steps):
        return ""
    return ": ".join(filter(None, (f"In this case {outcome.message}", outcome.detail)))


def _steps(
    expected: Mapping[str, Array],
    states: Mapping[str, State],
    recorded: Answer,
    returned: Mapping[str, Array],
) -> tuple[Step, ...]:
    seen = list(of_group(recorded.tensors, Group.SEEN).values())
    flat = [array.ravel() for array in seen]
    steps = []
    ended = False  # nothing behind a step that was not reached is wrong: it was not made at all
    for name, state in states.items():
        within = state is State.WRONG and _is_within(expected[name], seen)
        came = None if within else returned.get(name)  # a part of a wider one is told as that
        ended = ended or state is State.NOT_REACHED
        there = any(same_values(expected[name], array) for array in seen)
        if there and state is State.NOT_REACHED:
            state = State.OPEN  # made, and not kept
        steps.append(
            Step(
                name,
                expected[name],
                State.NOT_REACHED if ended and state is State.WRONG else state,
                _own(recorded.held_by(name), came, expected[name]),
                there and not _is_reshaped(expected[name], returned.get(name)),
                any(same_values(expected[name].ravel(), array) for array in flat),
                within,
            )
        )
    return tuple(steps)


def _own(held: Sequence[Array], returned: Array | None, expected: Array) -> Array | None:
    """What was returned, else what a variable of a step's name ended up with.

    Of several that it held, one of as many axes comes first.
    """
    if returned is not None:
        return returned
    alike = [one for one in held if one.ndim == expected.ndim]
    return next(reversed(alike or held), None)


def _is_within(expected: Array, seen: Sequence[Array]) -> bool:
    """Whether a tensor has the values of one as equal parts of its last axis, beside others."""
    lead, width = expected.shape[:-1], expected.shape[-1] if expected.ndim else 0
    wider = [one for one in seen if one.ndim and one.shape[:-1] == lead and one.shape[-1] > width]
    return width > 0 and any(
        same_values(expected, one[..., start : start + width])
        for one in wider
        for start in range(0, one.shape[-1] - width + 1, width)
    )


def _is_reshaped(expected: Array, returned: Array | None) -> bool:
    """Whether what was returned has the right values in another shape."""
    if returned is None or returned.shape == expected.shape:
        return False
    return same_values(expected.ravel(), returned.ravel())


def _made(right: Mapping[str, Array], recorded: Answer, evidence: Evidence) -> tuple[Made, ...]:
    names = evidence.words.operations
    made: list[Made] = []
    for name, values in sorted(of_group(recorded.tensors, Group.SEEN).items()):
        operation = operation_of(name)
        place, call = place_of(name), call_of(name)
        if call == UNFINISHED:
            continue
        written = written_at(evidence.source, place)
        unasked = operation in _UNASKED and (call or written not in _ASKED)
        last = made if unasked else made[-1:] if operation in (_SILENT | _UNASKED) else []
        equal = [
            i
            for i, before in enumerate(last)
            if np.array_equal(values, before.values) and (not call or before.call == call)
        ]
        if (
            equal
            and place
            and all((one.place, one.call) == (place, call) for one in last[equal[-1] :])
        ):
            del made[len(made) - len(last) + equal[-1] + 1 :]  # a detour of one function's
        if operation == "t" or (equal and not _in_its_shape(made[-1], place, values)):
            continue
        held = tuple(name for name, due in right.items() if same_values(due, values))
        known = names.get(operation, operation)
        made.append(Made(known, written, place, call, operation == GIVEN, values, held))
    return tuple(made)


def _in_its_shape(last: Made, place: Sequence[int], values: Array) -> bool:
    """Whether torch gives what it just made at a place its shape: linear joins axes inside."""
    own = last.place == place and last.operation not in (_SILENT | _UNASKED)
    return (
        own
        and last.values.shape != values.shape
        and np.array_equal(last.values.ravel(), values.ravel())
    )


def _outputs(answer: Answer) -> dict[str, Array]:
    return of_group(answer.tensors, Group.OUTPUT)


def _products(exercise: Exercise) -> frozenset[str]:
    """Products of two dims that an exercise speaks of in its inputs and outputs."""
    texts = [text for target in exercise.targets for text in _declared(target)]
    return frozenset(found for text in texts for found in _PRODUCT.findall(text))


def _sizes(target: Target, case: DrawnCase) -> dict[str, int]:
    """The sizes that an axis may have: not those of what is only added to others."""
    axes = [
        one
        for text in _declared(target)
        for some in _AXES.findall(text)
        for one in some.split(", ")
    ]
    added = {name for axis in axes for name in _ADDED.findall(axis)} - set(axes)
    return {name: size for name, size in case.dims.items() if name not in added}


def _declared(target: Target) -> list[str]:
    """What inputs and outputs are declared to be."""
    return [str(value) for value in [*target.inputs.values(), *target.outputs.values()]]
