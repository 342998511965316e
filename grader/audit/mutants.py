"""Makes mutants of a solution: every change that an operator makes inside the marked regions."""

import ast
import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.audit.operators import OPERATORS, Scope, is_number
from grader.course.derive import BEGIN, END

_CAP = 300  # mutants of one operator in one function; the rest is thinned out evenly
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
                    names = _names_before(node, statement)
                    scope = Scope(names, attributes, _sizes(node), _takes_tensors(node))
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
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert) or is_number(node):
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
    names = [parameter.arg for parameter in _parameters(function)]
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
    return any(
        p.annotation is None or "Tensor" in ast.unparse(p.annotation)
        for p in _parameters(function)
        if p.arg != "self"
    )


def _sizes(function: _Function) -> tuple[str, ...]:
    """The parameters that are annotated as int."""
    own = _parameters(function)
    return tuple(p.arg for p in own if p.annotation and ast.unparse(p.annotation) == "int")


def _parameters(function: _Function) -> list[ast.arg]:
    own = function.args
    return [*own.posonlyargs, *own.args, *own.kwonlyargs]


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
