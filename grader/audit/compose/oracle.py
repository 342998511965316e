"""What is true of a composition: from what was planted in it, and from running it here.

Nothing of the grader's checks or diagnosis is asked, and of its binding no more than layers with
the reference's own names need. What a mistake comes to is weighed in plain style, by taking it out.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, partial
from itertools import permutations, product
from typing import TYPE_CHECKING

from grader.audit.compose.material import Composition, Material, Plant
from grader.audit.compose.sameness import (
    CLOSE,
    Answers,
    exchanged,
    registered,
    same_answer,
    same_tensors,
    same_values,
    seen_of,
    steps_seen,
)
from grader.course.bugs import Mutant, compose, load_bugs, mutants_of
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.errors import CourseError
from grader.grading.arrangements import Arrangement
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Call
from grader.records.ids import CallId
from grader.records.key import AnswerKey
from grader.worker.protocol import Action, TargetKind

if TYPE_CHECKING:  # torch comes where a program is run, in a process of its own
    from grader.audit.compose.program import OwnRun
    from grader.key.reference import Reference
    from grader.worker.targets import Recipes

_CLOSE32 = 1e-4
_FLOAT32 = "float32"  # the kind of deviations that leave no more precision than that
_ACTIONS = (
    Action.FORWARD,
    Action.GRADIENT,
    Action.REUSE,
    Action.TRAIN,
    Action.PIECES,
    Action.SAMPLE,
)
_USUAL = Arrangement({})


class Scope(StrEnum):
    """On which cases a report says that values are those of known bugs."""

    EVERY = "every case"
    ENDED = "where an output came"
    WRONG = "where an output came that is wrong"


@dataclass(frozen=True)
class Truth:
    """What is true of one target of a composition."""

    target: str
    acting: frozenset[str]  # planted bugs that change something, by id
    own: bool  # whether one of them is in its own code, and not only in what it uses
    names: frozenset[str]  # ids that a report may give: acting ones, or what a deviation is called
    deviations: tuple[Plant, ...]
    planted: frozenset[str]  # targets of the file in which something is planted
    calls: frozenset[str]  # other targets that its code names
    right: bool  # on the main cases, with the reference's parameters
    # whether a step's values came up, for those that can be told; by the ways to take its layers
    steps: Sequence[Mapping[str, bool]]
    reached: frozenset[str]  # parameters that a gradient reaches on some main case

    def wrong_among(self, names: Collection[str]) -> list[str]:
        """Return those of some steps whose values did not come up, in the way that has fewest."""
        wrong = [[n for n in names if not steps.get(n, True)] for steps in self.steps]
        return min(wrong, key=len)


@dataclass
class Oracle:
    """Tells the truth about compositions of one exercise; runs within `reference_imports`."""

    folder: CourseFolder
    exercise: Exercise
    key: AnswerKey
    material: Material
    solution: str
    recipes: "Recipes" = field(default_factory=dict)
    seen: dict[tuple[object, ...], Answers] = field(default_factory=dict)

    def truth(self, made: Composition, target: str) -> Truth:
        """Weigh the plants of a composition on one target."""
        own = self.exercise.target(target)
        acting = self._acting(made, target)
        near = tuple(p for p in made.of("deviations") if p.target in (target, *own.uses))
        changes = [self.material.change(plant) for plant in near]
        ways = [self.own_runs(made, target, main=True, way=way) for way in self._ways(made, target)]
        close = _CLOSE32 if any(one.kind == _FLOAT32 for one in changes) else CLOSE
        return Truth(
            target=target,
            acting=frozenset(p.id for p in acting),
            own=any(plant.target == target for plant in acting),
            names=frozenset({*(p.id for p in acting), *(n for c in changes for n in c.names)}),
            deviations=near,
            planted=frozenset(p.target for p in made.plants),
            calls=frozenset(n for n in own.uses if n in self._code(made, target)),
            right=any(all(first.agrees(two, close) for first, two in runs) for runs in ways),
            steps=[steps_seen(own.step_names, runs, close) for runs in ways],
            reached=frozenset(name for _, run in ways[0] for name in run.reached),
        )

    def own_runs(
        self, made: Composition, target: str, *, main: bool = False, way: Arrangement = _USUAL
    ) -> "list[tuple[OwnRun, OwnRun]]":
        """Return runs of the reference and of the program on all cases, or the main ones.

        `way` exchanges the parameters that the program gets.
        """
        from grader.audit.compose.program import run_program

        calls = self._calls(target, main=main)
        is_module = any(call.kind is TargetKind.MODULE for call in calls)
        load = self.material.loading(made) if is_module else ""
        texts = (self.solution, ""), (self.material.text(made), load)
        programs = [(self._reference(text), load) for text, load in texts]
        names = self.exercise.target(target).step_names
        tensors = self.key.plan.tensors
        (reference, _), (program, load) = programs
        return [
            (
                run_program(reference, call, names, tensors, ""),
                run_program(program, exchanged(call, way), names, tensors, load),
            )
            for call in calls
        ]

    def _calls(self, target: str, *, main: bool) -> list[Call]:
        """The calls of a target's cases, or of the main ones, whose values are compared."""
        due = {
            str(CallId(target, case.id, Action.FORWARD))
            for case in self.key.plan.numeric_cases(target)
            if case.main or not main
        }
        return [c for c in self.key.plan.of_target(target) if c.id in due and not c.free]

    def equals(
        self,
        made: Composition,
        target: str,
        names: Sequence[str],
        scope: Scope = Scope.EVERY,
        without: Collection[str] = (),
        close: float = CLOSE,
    ) -> bool:
        """Whether the values under a composition's bugs are those under the known bugs `names`.

        The groups of cases in `without` do not count, where others are left. Bugs that no value
        shows equal nothing.
        """
        cases = self.key.plan.numeric_cases(target)
        out = {str(CallId(target, c.id, Action.FORWARD)) for c in cases if c.group in without}
        if all(call.id in out for call in self._calls(target, main=False)):
            out = set()
        known, right = self._wrong_values(names, target), self._values(self.solution, target)
        for one, way in product(self._plain_ones(made), self._ways(made, target)):
            text = self.material.text(one)
            mine = {c: a for c, a in self._values(text, target, way).items() if c not in out}
            if scope is not Scope.EVERY:
                mine = {c: a for c, a in mine.items() if a.status is AnswerStatus.OK}
            if scope is Scope.WRONG:
                mine = {c: a for c, a in mine.items() if not same_values(a, right[c])}
            for theirs in known:
                if mine and all(same_values(a, theirs[call], close) for call, a in mine.items()):
                    return True
        return scope is Scope.EVERY and self._equals_as_written(made, target, known, out, close)

    def _equals_as_written(
        self,
        made: Composition,
        target: str,
        known: Sequence[Answers],
        out: Collection[str],
        close: float,
    ) -> bool:
        """Whether the bugs in their own style, which loads its layers, have one of these values."""
        bugs = made.only("bugs")
        calls = self._calls(target, main=False)
        for way in self._ways(made, target):
            runs = zip(calls, self.own_runs(bugs, target, way=way), strict=True)
            mine = {call.id: own for call, (_, own) in runs if call.id not in out}
            for theirs in known:
                if mine and all(own.gave(theirs[call], close) for call, own in mine.items()):
                    return True
        return False

    def _wrong_values(self, names: Sequence[str], target: str) -> list[Answers]:
        """The values under known bugs, in all their variants that some value shows."""
        right = self._values(self.solution, target)
        texts = [self._values(theirs, target) for theirs in self._known(names, target)]
        return [t for t in texts if any(not same_values(t[c], a) for c, a in right.items())]

    def stands_for(
        self, made: Composition, target: str, name: str, without: Collection[str] = ()
    ) -> frozenset[str]:
        """Return the planted bugs that do, each by itself, what a known bug does."""
        equal = partial(self.equals, target=target, names=[name], without=without)
        return frozenset(p.id for p in made.of("bugs") if equal(made.alone(p)))

    def equals_at_step(self, made: Composition, target: str, name: str, step: str) -> bool:
        """Whether a step has the values that it has under a known bug, on the main cases."""
        from grader.audit.compose.program import run_program

        calls, tensors = self._calls(target, main=True), self.key.plan.tensors
        texts = map(self._reference, self._known([name], target))
        known = [[run_program(t, call, [step], tensors, "") for call in calls] for t in texts]
        return any(
            steps_seen([step], list(zip(theirs, mine, strict=True)), _CLOSE32).get(step, False)
            for way in self._ways(made, target)
            for mine in [[own for _, own in self.own_runs(made, target, main=True, way=way)]]
            for theirs in known
        )

    def registers_as(self, made: Composition, target: str, names: Sequence[str]) -> bool:
        """Whether as many numbers are registered as under known bugs, wherever both come about.

        With the deviations, or without them where they are told beside it.
        """
        texts = [self.material.text(one) for one in (made, self._bare(made))]
        of = partial(registered, bound=self.exercise.target(target).kind is not TargetKind.FACTORY)
        own = [of(self._answers(text, target)) for text in texts]
        known = [of(self._answers(text, target)) for text in self._known(names, target)]
        return any(
            both and all(mine[call] == theirs[call] for call in both)
            for mine, theirs in product(own, known)
            for both in [mine.keys() & theirs.keys()]
        )

    def behaves_as(self, made: Composition, target: str, name: str) -> bool:
        """Whether pieces, or training mode, give what they do under a known bug, and no right code.

        Or whether some parameter is without a gradient under both, and the bug changes no output.
        """
        calls = self.key.plan.of_target(target)
        looks = [[c.id for c in calls if c.action is way] for way in (Action.PIECES, Action.TRAIN)]
        mine = self._answers(self.material.text(self._bare(made)), target)
        right = self._answers(self.solution, target)
        known = [self._answers(text, target) for text in self._known([name], target)]
        idle = [c.id for c in calls if c.action is Action.GRADIENT and mine[c.id].info.untrained]
        for look, theirs in product(looks, known):
            shows = any(not same_tensors(right[c], theirs[c]) for c in look)
            if shows and all(same_tensors(mine[c], theirs[c]) for c in look):
                return True
        silent = not self._wrong_values([name], target)
        return silent and any(theirs[c].info.untrained for theirs in known for c in idle)

    def is_of_form(self, name: str, target: str) -> bool:
        """Whether a known bug gives the right values, in another form."""
        right = self._values(self.solution, target)
        known = [self._values(text, target) for text in self._known([name], target)]
        alike = [t for t in known if all(same_values(t[c], a) for c, a in right.items())]
        return any(t[c].info.parts != a.info.parts for t in alike for c, a in right.items())

    def draws(self, made: Composition, target: str) -> bool:
        """Whether a composition's bugs draw numbers at random where the solution draws none."""
        mine, right = (
            self._answers(text, target)
            for text in (self.material.text(self._bare(made)), self.solution)
        )
        return any(mine[call].info.random and not right[call].info.random for call in mine)

    def gives_outputs(self, made: Composition, target: str) -> bool:
        """Whether a composition's bugs, in its style, leave an output on every case of values."""
        bugs = made.only("bugs")
        return not any(own.error for _, own in self.own_runs(bugs, target))

    # ---- running ----------------------------------------------------------------------------

    def _bare(self, made: Composition) -> Composition:
        """The bugs of a composition alone, in plain style."""
        return self.material.plain(made.only("bugs"))

    def _plain_ones(self, made: Composition) -> list[Composition]:
        """The bugs in plain style, alone and beside each deviation.

        An option that is not heard may make two bugs one.
        """
        ways = [Composition(made.styles, (*made.of("bugs"), d)) for d in made.of("deviations")]
        return [self._bare(made), *map(self.material.plain, ways)]

    def _acting(self, made: Composition, target: str) -> list[Plant]:
        """The bugs that change something where they are; of those that hide each other, all."""
        bare, ways = self._bare(made), self._ways(made, target)
        none = bare.without(*bare.plants)
        if self._alike(bare, none, target, ways):
            return []  # they undo each other
        bugs = bare.plants
        acting = [p for p in bugs if not self._alike(bare, bare.without(p), target, ways)]
        return acting or [p for p in bugs if not self._alike(bare.alone(p), none, target, ways)]

    def _alike(
        self, one: Composition, other: Composition, target: str, ways: Sequence[Arrangement]
    ) -> bool:
        """Whether a composition answers as another does, in some way to take its layers."""
        second = self._seen(self.material.text(other), target)
        text = self.material.text(one)
        return any(
            all(same_answer(answer, second[call]) for call, answer in first.items())
            for first in (self._seen(text, target, way) for way in ways)
        )

    def _seen(self, text: str, target: str, way: Arrangement = _USUAL) -> Answers:
        """What shows of a text's answers."""
        answers = self._answers(text, target, way)
        calls = self.key.plan.of_target(target)
        return seen_of(answers, [c.id for c in calls if c.free and c.id in answers])

    def _ways(self, made: Composition, target: str) -> list[Arrangement]:
        """Every order of the layers that no name tells apart, the usual one first."""
        guessed = self.material.guessed(made)
        call = next(iter(self.key.plan.of_target(target)))
        stems = dict.fromkeys(role.name.rpartition(".")[0] for role in call.roles)
        open_ = set(guessed) - self._settled(made, target)
        alike = [stem for stem in stems if stem.rpartition(".")[2] in open_]
        return [
            Arrangement({one: two for one, two in zip(alike, order, strict=True) if one != two})
            for order in permutations(alike)
        ]

    def _settled(self, made: Composition, target: str) -> set[str]:
        """The layers of what a target uses, and is right: they play there what they play here."""
        uses, code = self.exercise.target(target).uses, self._code(made, target)
        bare = self._bare(made)
        nothing = bare.without(*bare.plants)
        right = [o for o in uses if o in code and self._alike(bare, nothing, o, [_USUAL])]
        calls = [next(iter(self.key.plan.of_target(one))) for one in right]
        return {role.name.rpartition(".")[0] for call in calls for role in call.roles}

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

    def _values(self, text: str, target: str, way: Arrangement = _USUAL) -> Answers:
        """A text's answers to the calls whose outputs are compared."""
        cases = self.key.plan.numeric_cases(target)
        numeric = {str(CallId(target, case.id, Action.FORWARD)) for case in cases}
        return {c: a for c, a in self._answers(text, target, way).items() if c in numeric}

    def _answers(self, text: str, target: str, way: Arrangement = _USUAL) -> Answers:
        """Run a text, whose layers have the reference's names, on a target's calls.

        `way` exchanges their parameters; gradients come back under the names that were meant.
        """
        asked = (text, target, tuple(way.layers.items()))
        if asked not in self.seen:
            calls = [c for c in self.key.plan.of_target(target) if c.action in _ACTIONS]
            try:
                found = self._run(text, [exchanged(call, way) for call in calls])
                self.seen[asked] = {c.id: way.restored(c, found[c.id]) for c in calls}
            except CourseError as error:
                ended = Answer(AnswerStatus.MISSING, reason=str(error))
                self.seen[asked] = {call.id: ended for call in calls}
        return self.seen[asked]

    def _run(self, text: str, calls: Sequence[Call]) -> dict[str, Answer]:
        from grader.key.reference import make_answer

        runner = self._reference(text).runner(self.key.plan.tensors, shared=self.recipes)
        runner.announce(calls, ())
        return {call.id: make_answer(runner, call) for call in calls}

    def _reference(self, text: str) -> "Reference":
        from grader.key.reference import Reference

        return Reference(self.exercise, text, self.folder)

    def _code(self, made: Composition, target: str) -> str:
        """The part of a composition's text that defines a target."""
        parts = f"\n{self.material.text(made)}".replace("\nclass ", "\ndef ").split("\ndef ")
        return next((part for part in parts if part.startswith(f"{target}(")), "")
