"""The reference beside a student's own code, once an instructor has released it."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from grader.course.derive import BEGIN, END
from grader.course.models import Course, Exercise
from grader.handin.read import Source
from grader.handin.syntax import parse
from grader.records.results import ExerciseResult, Status
from grader.student.ways import WAYS, Ways


@dataclass(frozen=True)
class Difference:
    """One purpose that both pieces of code reach, in different ways."""

    purpose: str
    own: tuple[str, ...]
    reference: tuple[str, ...]
    meanings: tuple[str, ...]  # what each of these ways does


@dataclass(frozen=True)
class Comparison:
    """One target, as it was written twice."""

    target: str
    own: tuple[str, ...]  # lines, without the docstring; none where it is not defined
    reference: tuple[str, ...]
    passed: int  # checks
    checks: int
    differences: tuple[Difference, ...]  # told where all checks pass: else not both are right

    @property
    def right(self) -> bool:
        """Whether the student's own code passes every check."""
        return self.passed == self.checks


def compare(
    course: Course, exercise: Exercise, source: Source, solution: str, result: ExerciseResult
) -> tuple[Comparison, ...]:
    """Return each target of an exercise beside its reference."""
    own = [text for _, text in source.units]
    table = WAYS[course.framework_of(exercise)]
    return tuple(_compared(t.name, own, solution, result, table) for t in exercise.targets)


def _compared(
    target: str,
    own: Sequence[str],
    solution: str,
    result: ExerciseResult,
    table: Ways,
) -> Comparison:
    checks = [check for check in result.checks if check.target == target]
    passed = sum(check.status is Status.PASSED for check in checks)
    theirs = _definition([solution], target)
    mine = _definition(own, target)
    differences = _differences(mine, theirs, table) if passed == len(checks) else ()
    return Comparison(target, mine.lines, theirs.lines, passed, len(checks), differences)


@dataclass(frozen=True)
class _Definition:
    lines: tuple[str, ...]
    ways: frozenset[str]


def _definition(texts: Sequence[str], target: str) -> _Definition:
    """Return the last definition of a name at the top of some cells."""
    for text in reversed(texts):
        tree = parse(text)
        for node in reversed(tree.body if tree else []):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == target:
                return _Definition(_lines(text, node), frozenset(_ways(node)))
    return _Definition((), frozenset())


def _lines(text: str, node: ast.FunctionDef | ast.ClassDef) -> tuple[str, ...]:
    """Return the lines of a definition without docstrings, markers and blanks."""
    left_out: set[int] = set()
    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(inner) is not None
        ):
            said = inner.body[0]
            left_out |= set(range(said.lineno, (said.end_lineno or said.lineno) + 1))
    lines = text.split("\n")  # as Python counts them
    numbered = enumerate(lines[node.lineno - 1 : node.end_lineno], start=node.lineno)
    kept = [line.rstrip() for number, line in numbered if number not in left_out]
    return tuple(line for line in kept if line and line.strip() not in (BEGIN, END))


def _ways(node: ast.AST) -> set[str]:
    """Return the operations, methods and statements that code is written with."""
    found: set[str] = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(value=ast.Name(id="self")):
                pass  # a name of the student's own
            case ast.Attribute(attr=name) | ast.Call(func=ast.Name(id=name)):
                found.add(name)
            case ast.BinOp(op=ast.MatMult()):
                found.add("@")
            case ast.BinOp(op=ast.Pow()):
                found.add("**")
            case ast.For() | ast.While() | ast.comprehension():
                found.add("a loop")
    return found


def _differences(own: _Definition, reference: _Definition, table: Ways) -> tuple[Difference, ...]:
    """Return the purposes for which the two take other ways, in the order of the table."""
    found = []
    for purpose, ways in table.items():
        mine = tuple(way for way in ways if way in own.ways)
        theirs = tuple(way for way in ways if way in reference.ways)
        if mine and theirs and mine != theirs:
            shown = dict.fromkeys((*mine, *theirs))
            meanings = tuple(f"{_quoted(way)} {ways[way]}" for way in shown)
            found.append(Difference(purpose, mine, theirs, meanings))
    return tuple(found)


def _quoted(way: str) -> str:
    return way if " " in way else f"`{way}`"
