"""The reference beside a student's own code, once an instructor has released it."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from grader.course.derive import BEGIN, END
from grader.course.load import CourseFolder
from grader.course.models import Course, Exercise
from grader.course.shipped import released_solution
from grader.errors import UsageError
from grader.handin.read import Source
from grader.handin.syntax import parse
from grader.records.results import ExerciseResult, Status

Ways = dict[str, dict[str, str]]  # purpose -> way -> what it does, as the rest of a sentence

# the same in every framework, but for what is said otherwise
_WEIGHTS = {
    "softmax": "takes exponentials and divides by their sum, safely",
    "Softmax": "is `softmax` as a module",
    "log_softmax": "is the logarithm of it, in one safe step",
    "logsumexp": "is the logarithm of the sum, to be subtracted",
    "exp": "takes the exponentials, to be divided by their sum",
}
_ROOTS = {
    "sqrt": "is the square root",
    "rsqrt": "is one over the square root",
    "**": "is a power: 0.5 is the root, -0.5 one over it",
}

_TORCH: Ways = {
    "products of matrices": {
        "@": "multiplies the last two axes, batch by batch",
        "matmul": "is the same product as `@`, as a call",
        "bmm": "is the product for tensors of exactly three axes",
        "einsum": "names each axis by a letter, and sums over those that the result leaves out",
    },
    "axes that change places": {
        "transpose": "exchanges the two axes that it names",
        "mT": "exchanges the last two axes",
        "T": "turns a matrix",
        "permute": "lists all axes in their new order",
        "swapaxes": "is `transpose` by its name in numpy",
        "movedim": "takes one axis to another place",
        "einsum": "gives axes their order by letters",
    },
    "a new shape": {
        "reshape": "keeps the order of the numbers, and copies where it has to",
        "view": "keeps the order of the numbers, and never copies",
        "unflatten": "splits one axis into several",
        "flatten": "joins axes that follow each other",
        "chunk": "cuts an axis into equal parts",
        "split": "cuts an axis into parts of a given size",
        "cat": "joins tensors along an axis",
        "stack": "joins tensors along a new axis",
        "unsqueeze": "adds an axis of size 1",
    },
    "weights that sum to one": _WEIGHTS,
    "a root": _ROOTS | {"pow": "is a power as a call"},
    "what a mask hides": {
        "masked_fill": "puts a value where a mask is true",
        "where": "chooses between two values, place by place",
    },
    "masks by comparison": {
        "arange": "numbers the places, and these are compared",
        "tril": "keeps the lower triangle of a table",
        "triu": "keeps the upper triangle of a table",
    },
    "layers and parameters": {
        "Linear": "is a layer that holds its weight and bias",
        "Parameter": "is a tensor that is trained, multiplied by hand",
        "linear": "is the layer's computation as a function",
    },
    "activations": {
        "ReLU": "is the activation as a module",
        "relu": "is the activation as a function",
        "GELU": "is the activation as a module",
        "gelu": "is the activation as a function",
        "clamp": "cuts what is below a bound, as ReLU does at zero",
        "maximum": "takes the larger of two, as ReLU does with zero",
    },
    "stacks of layers": {
        "Sequential": "holds modules and runs them in turn",
        "ModuleList": "holds modules, and your code runs them",
    },
    "sizes": {"shape": "has all sizes", "size": "has one size"},
    "means and variances": {
        "mean": "is the mean along axes",
        "var": "is the variance; its `correction` has to be 0 here",
        "var_mean": "gives variance and mean at once",
        "sum": "is a sum, to be divided by the number",
    },
    "the loss of given tokens": {
        "cross_entropy": "takes logits, and does softmax, logarithm and mean at once",
        "nll_loss": "takes log-probabilities, and picks those of the targets",
        "gather": "picks one number a row",
    },
}

_KERAS: Ways = {
    "products of matrices": {
        "@": "multiplies the last two axes, batch by batch",
        "matmul": "is the same product as `@`, as a call",
        "einsum": "names each axis by a letter, and sums over those that the result leaves out",
        "tensordot": "sums over the axes that it names",
    },
    "axes that change places": {
        "transpose": "lists all axes in their new order",
        "swapaxes": "exchanges the two axes that it names",
        "moveaxis": "takes one axis to another place",
        "Permute": "is `transpose` as a layer, which leaves the batch aside",
        "einsum": "gives axes their order by letters",
    },
    "a new shape": {
        "reshape": "keeps the order of the numbers",
        "Reshape": "is `reshape` as a layer, which leaves the batch aside",
        "split": "cuts an axis into parts",
        "concatenate": "joins tensors along an axis",
        "stack": "joins tensors along a new axis",
        "expand_dims": "adds an axis of size 1",
    },
    "weights that sum to one": _WEIGHTS | {"Softmax": "is `softmax` as a layer"},
    "a root": _ROOTS | {"power": "is a power as a call"},
    "layers and weights": {
        "Dense": "is a layer that holds its kernel and bias",
        "EinsumDense": "is a layer whose product is written in letters",
        "add_weight": "makes a weight that is trained, multiplied by hand",
    },
    "activations": {
        "Activation": "is the activation as a layer",
        "ReLU": "is the activation as a layer",
        "relu": "is the activation as a function",
        "gelu": "is the activation as a function",
        "maximum": "takes the larger of two, as relu does with zero",
    },
    "stacks of layers": {
        "Sequential": "holds layers and runs them in turn",
        "Add": "is a sum as a layer",
    },
    "means and variances": {
        "mean": "is the mean along axes",
        "var": "is the variance",
        "moments": "gives mean and variance at once",
        "sum": "is a sum, to be divided by the number",
        "GlobalAveragePooling1D": "is the mean over time as a layer",
    },
}

WAYS: dict[str, Ways] = {"torch": _TORCH, "keras": _KERAS}


# ---- the comparison ------------------------------------------------------------------------------


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


def needed_solution(folder: CourseFolder, exercise: Exercise) -> str:
    """Return the released solution; raises UsageError where it is not there."""
    solution = released_solution(folder, exercise)
    if solution is None:
        raise UsageError(
            f"the solution of {exercise.id} is not released yet: your instructor does that, "
            "after the deadline. Then take the new zip: grade start . --renew --bundle FILE. "
            "Without an instructor there is no solution to compare with"
        )
    return solution


def compare(
    course: Course, exercise: Exercise, source: Source, solution: str, result: ExerciseResult
) -> tuple[Comparison, ...]:
    """Return each target of an exercise beside its reference."""
    own = [text for _, text in source.units]
    table = WAYS[course.framework_of(exercise)]
    return tuple(_compared(t.name, own, solution, result, table) for t in exercise.targets)


def _compared(
    target: str, own: Sequence[str], solution: str, result: ExerciseResult, table: Ways
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
