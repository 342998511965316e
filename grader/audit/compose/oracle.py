"""What is true of a composition: from what was planted in it, and from running it here.

Nothing of the grader's checks or diagnosis is asked, and of its binding no more than layers with
the reference's own names need. What a mistake comes to is weighed in plain style, by taking it out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations, product

import numpy as np

from grader.audit.compose.material import Composition, Material, Plant
from grader.audit.compose.program import OwnRun, run_program
from grader.course.bugs import Mutant, compose, load_bugs, mutants_of
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.errors import CourseError
from grader.key.reference import Reference, make_answer
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Array, Call
from grader.records.ids import CallId
from grader.records.key import AnswerKey
from grader.worker.names import Group, of_group
from grader.worker.protocol import Action, TargetKind
from grader.worker.targets import Recipes

_CLOSE = 1e-9  # of values that are the same in float64
_CLOSE32 = 1e-4
_FLOAT32 = "float32"  # the kind of deviations that leave no more precision than that
_ACTIONS = (Action.FORWARD, Action.GRADIENT, Action.REUSE, Action.TRAIN)
_AXES = 4  # more axes than this are not reordered
Answers = Mapping[str, Answer]  # by call


@dataclass(frozen=True)
class Truth:
    """What is true of one target of a composition."""

    target: str
    acting: frozenset[str]  # planted bugs that change something, by id
    names: frozenset[str]  # ids that a report may give: acting ones, or what a deviation is called
    deviations: tuple[Plant, ...]
    planted: frozenset[str]  # targets of the file in which something is planted
    calls: frozenset[str]  # other targets that its code names
    right: bool  # on the main cases, with the reference's parameters
    steps: Mapping[str, bool]  # whether a step's values came up, for those that can be told
    reached: frozenset[str]  # parameters that a gradient reaches on some main case

    @property
    def wrong_steps(self) -> frozenset[str]:
        """The steps whose values never came up."""
        return frozenset(name for name, right in self.steps.items() if not right)


@dataclass
class Oracle:
    """Tells the truth about compositions of one exercise; runs within `reference_imports`."""

    folder: CourseFolder
    exercise: Exercise
    key: AnswerKey
    material: Material
    solution: str
    recipes: Recipes = field(default_factory=dict)
    seen: dict[tuple[str, str], Answers] = field(default_factory=dict)  # by text and target

    def truth(self, made: Composition, target: str) -> Truth:
        """Weigh the plants of a composition on one target."""
        own = self.exercise.target(target)
        bare = self._bare(made)
        acting = [p for p in bare.plants if not self._alike(bare, bare.without(p), target)]
        near = tuple(p for p in made.of("deviations") if p.target in (target, *own.uses))
        changes = [self.material.change(plant) for plant in near]
        runs = self.own_runs(made, target, main=True)
        coarse = any(change.kind == _FLOAT32 for change in changes)
        close = _CLOSE32 if coarse else _CLOSE
        return Truth(
            target=target,
            acting=frozenset(p.id for p in acting),
            names=frozenset({*(p.id for p in acting), *(n for c in changes for n in c.names)}),
            deviations=near,
            planted=frozenset(p.target for p in made.plants),
            calls=frozenset(n for n in own.uses if n in self._code(made, target)),
            right=all(first.agrees(second, close) for first, second in runs),
            steps=_steps(own.step_names, runs, close),
            reached=frozenset(name for _, run in runs for name in run.reached),
        )

    def own_runs(
        self, made: Composition, target: str, *, main: bool = False
    ) -> list[tuple[OwnRun, OwnRun]]:
        """Return runs of the reference and of the program on all cases, or the main ones."""
        due = {
            str(CallId(target, case.id, Action.FORWARD))
            for case in self.key.plan.numeric_cases(target)
            if case.main or not main
        }
        calls = [c for c in self.key.plan.of_target(target) if c.id in due and not c.free]
        module = any(call.kind is TargetKind.MODULE for call in calls)
        load = self.material.loading(made) if module else ""
        texts = (self.solution, ""), (self.material.text(made), load)
        programs = [(Reference(self.exercise, text, self.folder), load) for text, load in texts]
        names = self.exercise.target(target).step_names
        tensors = self.key.plan.tensors
        runs = [
            [run_program(program, call, names, tensors, load) for program, load in programs]
            for call in calls
        ]
        return [(first, second) for first, second in runs]

    def equals(
        self, made: Composition, target: str, names: Sequence[str], *, partly: bool = False
    ) -> bool:
        """Whether the values under a composition's bugs are those under the known bugs `names`.

        With `partly` only those cases count in which they differ from the reference's.
        """
        mine = self._values(self.material.text(self._bare(made)), target)
        if partly:
            right = self._values(self.solution, target)
            mine = {call: a for call, a in mine.items() if not _same_values(a, right[call])}
        for text in self._known(names, target):
            theirs = self._values(text, target)
            if mine and all(_same_values(answer, theirs[call]) for call, answer in mine.items()):
                return True
        return False

    def stands_for(self, made: Composition, target: str, name: str) -> frozenset[str]:
        """Return the planted bugs that do, each by itself, what a known bug does."""
        bugs = made.of("bugs")
        alone = {p.id: made.without(*(other for other in bugs if other != p)) for p in bugs}
        return frozenset(i for i, one in alone.items() if self.equals(one, target, [name]))

    def gives_outputs(self, made: Composition, target: str) -> bool:
        """Whether a composition's bugs leave an output on every case of values."""
        found = self._values(self.material.text(self._bare(made)), target)
        return all(answer.status is AnswerStatus.OK for answer in found.values())

    # ---- running ----------------------------------------------------------------------------

    def _bare(self, made: Composition) -> Composition:
        """The bugs of a composition alone, in plain style."""
        return self.material.plain(Composition(made.styles, made.of("bugs")))

    def _alike(self, one: Composition, other: Composition, target: str) -> bool:
        """Whether two compositions answer alike on all calls of a target."""
        texts = self.material.text(one), self.material.text(other)
        first, second = (self._answers(text, target) for text in texts)
        return all(_same_answer(first[call], second[call]) for call in first)

    def _known(self, names: Sequence[str], target: str) -> Iterator[str]:
        """The reference with one or two known bugs, in all their variants."""
        near = (target, *self.exercise.target(target).uses)
        groups = [
            [m for m in self._mutants if m.bug.id == name and m.bug.target in near]
            for name in names
        ]
        if len(groups) == 1:
            yield from (mutant.source for mutant in groups[0])
        elif len(groups) == 2:
            both = (compose(one, two, self.solution) for one, two in product(*groups))
            yield from (text for text in both if text is not None)

    @cached_property
    def _mutants(self) -> list[Mutant]:
        place = (self.folder, self.exercise)
        bugs = load_bugs(*place, self.solution)
        return [mutant for bug in bugs for mutant in mutants_of(*place, bug, self.solution)]

    def _values(self, text: str, target: str) -> Answers:
        """A text's answers to the calls whose outputs are compared."""
        cases = self.key.plan.numeric_cases(target)
        numeric = {str(CallId(target, case.id, Action.FORWARD)) for case in cases}
        return {c: a for c, a in self._answers(text, target).items() if c in numeric}

    def _answers(self, text: str, target: str) -> Answers:
        """Run a text, whose layers have the reference's names, on a target's calls."""
        if (text, target) not in self.seen:
            calls = [c for c in self.key.plan.of_target(target) if c.action in _ACTIONS]
            try:
                self.seen[text, target] = self._run(text, calls)
            except CourseError as error:
                ended = Answer(AnswerStatus.MISSING, reason=str(error))
                self.seen[text, target] = {call.id: ended for call in calls}
        return self.seen[text, target]

    def _run(self, text: str, calls: Sequence[Call]) -> dict[str, Answer]:
        reference = Reference(self.exercise, text, self.folder)
        runner = reference.runner(self.key.plan.tensors, shared=self.recipes)
        runner.announce(calls, ())
        return {call.id: make_answer(runner, call) for call in calls}

    def _code(self, made: Composition, target: str) -> str:
        """The part of a composition's text that defines a target."""
        parts = f"\n{self.material.text(made)}".replace("\nclass ", "\ndef ").split("\ndef ")
        return next((part for part in parts if part.startswith(f"{target}(")), "")


# ---- comparing ----------------------------------------------------------------------------------


def _steps(
    names: Sequence[str], runs: Sequence[tuple[OwnRun, OwnRun]], close: float
) -> dict[str, bool]:
    """Which steps' values came up in every case, of those that the program names."""
    found: dict[str, bool] = {}
    for name in names:
        told = [
            any(_in_some_order(tensor, reference.steps[name], close) for tensor in tensors)
            for reference, program in runs
            if name in reference.steps and name in program.steps
            for tensors in [(program.steps[name], *program.made)]
            if program.steps[name].size == reference.steps[name].size
        ]
        if told:
            found[name] = all(told)
    return found


def _in_some_order(one: Array, other: Array, close: float) -> bool:
    """Whether two arrays hold the same values in the same order of some order of axes."""
    if one.size != other.size:
        return False
    orders = permutations(range(one.ndim)) if one.ndim <= _AXES else [tuple(range(one.ndim))]
    return any(
        np.allclose(one.transpose(axes).ravel(), other.ravel(), rtol=close, atol=close)
        for axes in orders
    )


def _same_answer(one: Answer, other: Answer) -> bool:
    """Whether two calls ended alike, in all that a learner could see."""
    looks = [
        (
            answer.status,
            answer.error and (answer.error.type, answer.error.message),
            answer.info.registered,
            [part.type for part in answer.info.parts],
            [what for _, what in answer.info.loose],
        )
        for answer in (one, other)
    ]
    return looks[0] == looks[1] and _close(one.tensors, other.tensors)


def _same_values(one: Answer, other: Answer) -> bool:
    """Whether two calls gave an output, and the same one."""
    if one.status is not AnswerStatus.OK or other.status is not AnswerStatus.OK:
        return False
    return _close(of_group(one.tensors, Group.OUTPUT), of_group(other.tensors, Group.OUTPUT))


def _close(mine: Mapping[str, Array], theirs: Mapping[str, Array]) -> bool:
    return mine.keys() == theirs.keys() and all(
        mine[name].shape == theirs[name].shape
        and mine[name].dtype == theirs[name].dtype
        and np.allclose(mine[name], theirs[name], rtol=_CLOSE, atol=_CLOSE, equal_nan=True)
        for name in mine
    )
