"""nbgrader's pipelines with grader's parts in them."""

from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.preprocessors import ClearOutput, Execute, SaveAutoGrades

from grader.nbgrader.executor import SandboxExecute, SaveDiagnoses
from grader.nbgrader.release import RefuseSolutions
from grader.nbgrader.repair import RepairCells


def generate_preprocessors() -> list[type]:
    """Return those of `generate_assignment`: nbgrader's own, behind the one that guards them."""
    return [RefuseSolutions, *GenerateAssignment.preprocessors.default()]


def sanitize_preprocessors() -> list[type]:
    """Return those that clean a submission: nbgrader's own, with repairs before its checks."""
    return _inserted(Autograde.sanitize_preprocessors.default(), ClearOutput, RepairCells)


def autograde_preprocessors() -> list[type]:
    """Return those that grade: the executor stands in for the kernel."""
    stock = Autograde.autograde_preprocessors.default()
    swapped = [SandboxExecute if part is Execute else part for part in stock]
    return _inserted(swapped, SaveAutoGrades, SaveDiagnoses)


def _inserted(parts: list[type], after: type, new: type) -> list[type]:
    place = parts.index(after) + 1
    return [*parts[:place], new, *parts[place:]]
