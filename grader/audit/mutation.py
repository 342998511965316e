"""Tests the checks by mutation: small changes of a reference, each of which some check must fail.

Well-kept tools (mutmut, cosmic-ray) run a test suite in a process per mutant and have no operators
for tensor code, so the operators are our own, in grader/audit/operators.py; mutants run in this
process, on the calls of the answer key, as known bugs do. A mutant that no check fails is either
explained in solutions/bugs/equivalent.yml or a hole in the course's cases.
"""

import ast
import contextlib
import signal
import threading
import types
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from grader.audit.operators import OPERATORS, Scope
from grader.compare.outcomes import Evidence, judge_call
from grader.course.bugs import Bug, Mutant
from grader.course.derive import BEGIN, END
from grader.course.load import CourseFolder, parse_yaml
from grader.course.models import Exercise, Target
from grader.errors import CourseError
from grader.execute.answers import Answer
from grader.key.build import read_solution, reference_imports
from grader.key.build_bugs import Lab, affected
from grader.key.reference import Reference, make_answer
from grader.key.store import AnswerKey
from grader.plan.records import Call
from grader.records import Status
from grader.submission import Source

_CAP = 24  # mutants of one operator in one function; the rest is thinned out evenly
_BAD = (Status.FAILED, Status.TIMEOUT)
_UNLOADED = "does not load"
_ENDLESS = "does not end"
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutation:
    """One small change inside a solution's marked regions."""

    exercise: str
    function: str  # "MultiHeadSelfAttention.forward"
    line: int  # in the solution's file
    operator: str  # "arith"
    number: int  # among the changes that this operator makes in this function, from 1
    before: str  # the statement, as ast prints it; of a compound one the first line
    after: str
    source: str  # the whole file with the change in it

    @property
    def id(self) -> str:
        """Such as `exercise3:MultiHeadSelfAttention.forward:arith-1`."""
        return f"{self.exercise}:{self.function}:{self.operator}-{self.number}"


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

    id: str = Field(default="", description="exercise1:self_attention:constant-3")
    exercise: str = ""
    before: str = Field(default="", description="the statement as ast.unparse prints it")
    after: str = ""
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


# ---- mutants --------------------------------------------------------------------------------


def make_mutations(exercise: str, source: str, *, cap: int = _CAP) -> list[Mutation]:
    """Return the mutants of a solution's text, in order of lines; no two have equal code."""
    tree = ast.parse(source)
    seen = {ast.unparse(tree)}
    counts: Counter[tuple[str, str]] = Counter()
    found: list[Mutation] = []
    for site in _sites(tree, tree, source):
        before = _shown(site.statement)
        for operator, mutate in OPERATORS:
            for new in mutate(site.node, site.scope):
                with site.holding(new):
                    changed = ast.unparse(ast.fix_missing_locations(tree))
                    after = _shown(new if site.node is site.statement else site.statement)
                if changed not in seen:
                    seen.add(changed)
                    counts[site.function, operator] += 1
                    number = counts[site.function, operator]
                    line = getattr(site.node, "lineno", site.statement.lineno)
                    place = (exercise, site.function, line, operator, number)
                    found.append(Mutation(*place, before, after, changed))
    return _thin(found, cap)


def _thin(mutations: Sequence[Mutation], cap: int) -> list[Mutation]:
    """Keep at most `cap` of an operator in a function, evenly spread over it."""
    groups = Counter((m.function, m.operator) for m in mutations)
    kept = []
    for mutation in mutations:
        size = groups[mutation.function, mutation.operator]
        share = min(cap / size, 1.0)
        if int(mutation.number * share) > int((mutation.number - 1) * share):
            kept.append(mutation)
    return sorted(kept, key=lambda m: m.line)


@dataclass(frozen=True)
class _Site:
    """One node inside a marked region, and where it hangs."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    statement: ast.stmt
    function: str
    scope: Scope

    @contextlib.contextmanager
    def holding(self, new: ast.AST) -> Iterator[None]:
        """Put another node in this one's place while the context lasts."""
        self._put(new)
        try:
            yield
        finally:
            self._put(self.node)

    def _put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def _sites(tree: ast.Module, holder: ast.AST, source: str, outer: str = "") -> Iterator[_Site]:
    """Every node of the functions' statements that stand in a marked region."""
    regions = _regions(source)
    for node in ast.iter_child_nodes(holder):
        if isinstance(node, ast.ClassDef):
            yield from _sites(tree, node, source, f"{outer}{node.name}.")
        elif isinstance(node, _Function):
            attributes = _own_attributes(holder)
            for parent, field, index, statement in _statements(node):
                last = statement.end_lineno or statement.lineno
                if any(first < statement.lineno and last < end for first, end in regions):
                    scope = Scope(_names_before(node, statement), attributes, _takes_tensors(node))
                    function = f"{outer}{node.name}"
                    for place in _nodes(statement, parent, field, index):
                        yield _Site(*place, statement, function, scope)


def _regions(source: str) -> list[tuple[int, int]]:
    """The lines of each pair of markers."""
    lines = [line.strip() for line in source.splitlines()]
    begins = [number for number, line in enumerate(lines, start=1) if line == BEGIN]
    ends = [number for number, line in enumerate(lines, start=1) if line == END]
    return list(zip(begins, ends, strict=True))


def _statements(holder: ast.AST) -> Iterator[tuple[ast.AST, str, int, ast.stmt]]:
    """All statements below a node, outermost first, but for docstrings and inner functions'."""
    for field, value in ast.iter_fields(holder):
        if isinstance(value, list):
            for index, child in enumerate(value):
                if isinstance(child, ast.stmt):
                    yield holder, field, index, child
                if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                    yield from _statements(child)


def _nodes(
    node: ast.AST, parent: ast.AST, field: str, index: int | None
) -> Iterator[tuple[ast.AST, ast.AST, str, int | None]]:
    """A statement and its expressions; annotations, messages and inner statements left out."""
    yield node, parent, field, index
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "type_comment"):
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for place, child in children:
            if isinstance(child, ast.expr | ast.arguments | ast.keyword | ast.comprehension):
                yield from _nodes(child, node, name, place)


def _names_before(function: _Function, statement: ast.stmt) -> tuple[str, ...]:
    """The parameters and the local names assigned above a statement, the latest first."""
    own = function.args
    names = [a.arg for a in (*own.posonlyargs, *own.args, *own.kwonlyargs)]
    bound = {
        inner
        for node in ast.walk(function)
        if isinstance(node, ast.comprehension)
        for inner in ast.walk(node.target)
    }
    stored = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in bound
    ]
    above = sorted((n.lineno, n.col_offset, n.id) for n in stored if n.lineno < statement.lineno)
    names += [name for _, _, name in above]
    return tuple(dict.fromkeys(n for n in reversed(names) if n not in ("self", "_")))


def _takes_tensors(function: _Function) -> bool:
    """Whether a parameter is annotated as a tensor, or, but for self, not at all."""
    own = [a for a in (*function.args.args, *function.args.kwonlyargs) if a.arg != "self"]
    return any(a.annotation is None or "Tensor" in ast.unparse(a.annotation) for a in own)


def _own_attributes(holder: ast.AST) -> tuple[str, ...]:
    """The attributes of self that a class's constructor sets, buffers by name included."""
    made = [n for n in ast.iter_child_nodes(holder) if isinstance(n, _Function)]
    names = []
    for node in (inner for f in made if f.name == "__init__" for inner in ast.walk(f)):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.append(node.attr)
    return tuple(dict.fromkeys(names))


def _shown(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]


# ---- running --------------------------------------------------------------------------------


def run_mutations(
    folder: CourseFolder, exercise: Exercise, source: str, key: AnswerKey
) -> list[MutationResult]:
    """Run every mutant of a solution on the key's calls; raises CourseError.

    The unchanged text runs first: where that fails a check, a mutant's failure would mean nothing.
    """
    with _alone(), reference_imports(folder):
        bench = _Bench(folder, exercise, key)
        plain = ast.unparse(ast.parse(source))
        for target in exercise.targets:
            if wrong := bench.first_failure(plain, target.name):
                where = folder.solutions / exercise.file
                raise CourseError(f"{where}: the reference itself fails: {wrong}")
        return [MutationResult(m, bench.kill(m)) for m in make_mutations(exercise.id, source)]


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One thread, no warnings, and torch's defaults as they were afterwards."""
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

    def kill(self, mutation: Mutation) -> str:
        """What tells a mutant from the reference, "" where nothing does."""
        name = mutation.function.partition(".")[0]
        known = [target.name for target in self.exercise.targets]
        for own in [name] if name in known else known:  # a helper may serve any target
            try:
                with _deadline(self.folder.course.limits.case_seconds):
                    found = self.first_failure(mutation.source, own)
            except _Late:
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
        """Only the main cases: a case that fails in both dtypes fails the numeric check."""
        if not target.points.numeric:
            return ""
        start = f"{target.name}/main-"
        calls = [c for c in self.key.plan.calls if c.id.startswith(start) and c.action == "forward"]
        answers = self._run(source, calls, torch.float64)
        evidence = self._evidence(target, answers, {})
        if all(judge_call(evidence, call, "output").passed for call in calls):
            return ""
        again = self._evidence(target, answers, self._run(source, calls, torch.float32))
        wrong = any(not judge_call(again, call, "output").passed for call in calls)
        return f"{self.exercise.id}/{target.name}/numeric" if wrong else ""

    def _fails(self, source: str, own: str, targets: Sequence[Target], *, fit: bool) -> str:
        """Every check of some targets; training to the end is judged only where `fit`."""
        lab = Lab(self.folder, self.exercise, self.key)
        found = lab.examine(_mutant(source, own if fit else ""), targets)
        results = [r for target in targets for r in found.results[target.name]]
        return next((r.id for r in results if r.status in _BAD), "")

    def _run(self, source: str, calls: Sequence[Call], dtype: torch.dtype) -> dict[str, Answer]:
        runner = Reference(self.exercise, source, self.folder, dtype).runner(self.key.plan.tensors)
        runner.announce([call.to_json() for call in calls], self.exercise.forbids)
        return {call.id: make_answer(runner, call.to_json()) for call in calls}

    def _evidence(
        self, target: Target, answers: dict[str, Answer], answers32: dict[str, Answer]
    ) -> Evidence:
        file, course = self.exercise.file, self.folder.course
        given = (self.exercise, target, self.key, Source(file), answers, answers32, None, ())
        return Evidence(course, *given)


def _mutant(source: str, own: str) -> Mutant:
    """A mutant in the clothes of a known bug of the target `own`."""
    bug = Bug(
        id="mutant", title="-", target=own, when="-", variant="-", hints=["-", "-"], seen="-"
    )
    return Mutant(bug, 0, source, ())


class _Late(BaseException):
    """Raised in a mutant that takes too long; no `except Exception` of its own holds it."""


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise _Late after so many wall seconds; only the main thread can."""

    def ring(_: int, __: types.FrameType | None) -> None:
        raise _Late

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
    results = run_mutations(folder, exercise, read_solution(folder, exercise), key)
    survivors = [result.mutation for result in results if not result.killed]
    for entry in entries:
        if not any(entry.explains(mutation) for mutation in survivors):
            raise CourseError(
                f"{equivalent_path(folder)}: {entry.label}: fits no mutant that survives; remove it"
            )
    reasons = {m.id: e.reason for m in survivors for e in entries if e.explains(m)}
    return MutationReport(
        exercise.id,
        len(results),
        len(results) - len(survivors),
        tuple(Explained(m, reasons[m.id]) for m in survivors if m.id in reasons),
        tuple(m for m in survivors if m.id not in reasons),
    )
