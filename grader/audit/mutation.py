"""Tests the checks by mutation: small changes of a reference, each of which some check must fail.

Well-kept tools (mutmut, cosmic-ray) run a test suite in a process per mutant and have no operators
for tensor code, so the operators are our own, in grader/audit/operators.py; mutants run in this
process, on the calls of the answer key, as known bugs do. A mutant that no check fails is either
explained in solutions/bugs/equivalent.yml or a hole in the course's cases.
"""

import ast
import contextlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from grader.audit.mutants import Mutation, make_mutations
from grader.compare.evidence import Evidence
from grader.compare.outcomes import judge_call
from grader.course.bugs import as_mutant
from grader.course.derive import read_solution
from grader.course.load import CourseFolder, parse_yaml
from grader.course.models import Exercise, Target
from grader.errors import CourseError
from grader.handin.read import Source
from grader.key.build_bugs import MutantRunner, affected
from grader.key.reference import Reference, make_answer, reference_imports
from grader.processes import EndlessError, ending
from grader.records.answers import Answer
from grader.records.calls import Call
from grader.records.ids import CallId, CheckId, Kind
from grader.records.key import AnswerKey
from grader.records.results import Status
from grader.worker.names import Group
from grader.worker.protocol import Action, TargetKind
from grader.worker.targets import Recipes

_UNLOADED = "does not load"
_ENDLESS = "does not end"


@dataclass(frozen=True)
class MutationResult:
    """What became of one mutant."""

    mutation: Mutation
    killed_by: str  # the first failed check, or why it never came to checks; "" for a survivor

    @property
    def killed(self) -> bool:
        """Whether anything told it from the reference."""
        return bool(self.killed_by)


class Equivalent(BaseModel):
    """Survivors that behave as the reference does: named by id, or by what changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(default="", description="as `exercise1:self_attention:constant-3`")
    exercise: str = Field(default="", description="in place of an id, with `before` and `after`")
    before: str = Field(default="", description="the statement as `ast.unparse` prints it")
    after: str = Field(default="", description="the same with the change")
    reason: str = Field(min_length=1, description="why no check can tell it, for a reviewer")

    @model_validator(mode="after")
    def _names_its_mutants(self) -> "Equivalent":
        change = (self.exercise, self.before, self.after)
        if bool(self.id) == any(change) or (any(change) and not all(change)):
            raise ValueError("give either 'id', or 'exercise', 'before' and 'after'")
        return self

    @property
    def exercise_id(self) -> str:
        """The exercise whose mutants are meant."""
        return self.exercise or self.id.partition(":")[0]

    @property
    def label(self) -> str:
        """What an error calls the entry."""
        return self.id or f"{self.exercise}: {self.before} -> {self.after}"

    def explains(self, mutation: Mutation) -> bool:
        """Whether this mutant is meant; a change of the same text may stand in two functions."""
        change = (self.exercise, self.before, self.after)
        return mutation.id == self.id or change == (
            mutation.exercise,
            mutation.before,
            mutation.after,
        )


@dataclass(frozen=True)
class Explained:
    """A survivor and why it is equivalent to the reference."""

    mutation: Mutation
    reason: str


@dataclass(frozen=True)
class MutationReport:
    """The mutants of one exercise: total = killed + equivalent + survived."""

    exercise: str
    total: int
    killed: int
    equivalent: tuple[Explained, ...]
    survived: tuple[Mutation, ...]  # holes in the checks, or equivalent and not yet explained

    @property
    def share(self) -> float:
        """Of the mutants not shown equivalent, how many were killed; 1.0 where there are none."""
        due = self.total - len(self.equivalent)
        return self.killed / due if due else 1.0


# ---- running --------------------------------------------------------------------------------


def run_mutations(
    folder: CourseFolder, exercise: Exercise, source: str, key: AnswerKey
) -> list[MutationResult]:
    """Run every mutant of a solution on the key's calls; raises CourseError.

    The unchanged text runs first: where that fails a check, a mutant's failure would mean nothing.
    What is trained may be made in many ways, and most changes make another of them.
    """
    trained = {target.name for target in exercise.targets if target.trains}
    with _alone(), reference_imports(folder):
        bench = _Bench(folder, exercise, key)
        plain = ast.unparse(ast.parse(source))
        for target in exercise.targets:
            if wrong := bench.first_failure(plain, target.name):
                where = folder.solutions / exercise.file
                raise CourseError(f"{where}: the reference itself fails: {wrong}")
        return [
            MutationResult(mutation, bench.kill(mutation))
            for mutation in make_mutations(exercise.id, source)
            if mutation.function.partition(".")[0] not in trained
        ]


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One thread, no warnings, and afterwards torch's defaults as they were."""
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


@dataclass(frozen=True)
class _Bench:
    folder: CourseFolder
    exercise: Exercise
    key: AnswerKey
    recipes: Recipes = field(default_factory=dict)

    def kill(self, mutation: Mutation) -> str:
        """What tells a mutant from the reference, "" where nothing does."""
        name = mutation.function.partition(".")[0]
        known = [target.name for target in self.exercise.targets]
        for own in [name] if name in known else known:  # a helper may serve any target
            try:
                with ending(self.folder.course.limits_of(self.exercise).case_seconds):
                    found = self.first_failure(mutation.source, own)
            except EndlessError:
                return _ENDLESS
            except CourseError:
                return _UNLOADED
            if found:
                return found
        return ""

    def first_failure(self, source: str, own: str) -> str:
        """Judge a text by the target `own` and those that use it; the cheap calls first."""
        target = self.exercise.target(own)
        return (
            self._fails_main(source, target)
            or self._fails(source, own, [target], fit=False)
            or self._fails(source, own, affected(self.exercise, own), fit=True)
        )

    def _fails_main(self, source: str, target: Target) -> str:
        """Only the main cases: a case that fails in both dtypes fails the numeric check.

        A factory has values where it is made of correct parts: cases of its own.
        """
        if not target.points.numeric and target.kind is not TargetKind.FACTORY:
            return ""
        plan = self.key.plan
        main = [case for case in plan.numeric_cases(target.name) if case.main]
        calls = [plan.call(CallId(target.name, case.id, Action.FORWARD)) for case in main]
        for prop in self.folder.course.properties(self.exercise, target):
            calls += plan.of_property(target.name, prop.name) if prop.of_parts else []
        answers = self._run(source, calls, torch.float64)
        if not self._any_wrong(self._evidence(target, answers, {}), calls):
            return ""
        again = self._evidence(target, answers, self._run(source, calls, torch.float32))
        wrong = self._any_wrong(again, calls)
        return str(CheckId(self.exercise.id, target.name, Kind.NUMERIC)) if wrong else ""

    def _any_wrong(self, evidence: Evidence, calls: Sequence[Call]) -> bool:
        return any(
            judge_call(evidence, call, Group.OUTPUT).status is Status.FAILED for call in calls
        )

    def _fails(self, source: str, own: str, targets: Sequence[Target], *, fit: bool) -> str:
        """Every check of some targets; training to the end is judged only where `fit`."""
        runner = MutantRunner(self.folder, self.exercise, source, self.key, self.recipes)
        failed = runner.first_failed(as_mutant(source, own if fit else ""), targets)
        return str(failed.id) if failed else ""

    def _run(self, source: str, calls: Sequence[Call], dtype: torch.dtype) -> dict[str, Answer]:
        reference = Reference(self.exercise, source, self.folder, dtype)
        tensors = self.key.plan.tensors
        runner = reference.runner(tensors, shared=self.recipes, audits=False)
        runner.announce(calls, self.exercise.forbidden_for(*self.exercise.targets))
        return {call.id: make_answer(runner, call) for call in calls}

    def _evidence(
        self, target: Target, answers: dict[str, Answer], answers32: dict[str, Answer]
    ) -> Evidence:
        file, course = self.exercise.file, self.folder.course
        given = (self.exercise, target, self.key, Source(file), answers, answers32, None, ())
        return Evidence(course, *given)


# ---- report ---------------------------------------------------------------------------------


def equivalent_path(folder: CourseFolder) -> Path:
    """Return where survivors are explained, for all exercises of a course."""
    return folder.solutions / "bugs" / "equivalent.yml"


def load_equivalent(folder: CourseFolder) -> list[Equivalent]:
    """Read the explanations, [] where there is no such file; raises CourseError."""
    path = equivalent_path(folder)
    if not path.is_file():
        return []
    text = path.read_text(encoding="utf-8")
    entries = parse_yaml(text, str(path), TypeAdapter(list[Equivalent]), list[Equivalent])
    known = [exercise.id for exercise in folder.course.exercises]
    for entry in entries:
        if entry.exercise_id not in known:
            raise CourseError(f"{path}: {entry.label}: '{entry.exercise_id}' is no exercise")
    return entries


def mutation_report(folder: CourseFolder, exercise: Exercise, key: AnswerKey) -> MutationReport:
    """Run an exercise's mutants and set the explained ones apart; raises CourseError.

    An explanation that fits no survivor is stale, and an error.
    """
    entries = [e for e in load_equivalent(folder) if e.exercise_id == exercise.id]
    results = run_mutations(folder, exercise, read_solution(folder.solutions / exercise.file), key)
    survivors = [result.mutation for result in results if not result.killed]
    for entry in entries:
        if not any(entry.explains(mutation) for mutation in survivors):
            raise CourseError(
                f"{equivalent_path(folder)}: {entry.label}: fits no mutant that survives; remove it"
            )
    explained = {m.id: e for m in survivors for e in entries if e.explains(m)}
    return MutationReport(
        exercise.id,
        len(results),
        len(results) - len(survivors),
        tuple(Explained(m, explained[m.id].reason) for m in survivors if m.id in explained),
        tuple(m for m in survivors if m.id not in explained),
    )
