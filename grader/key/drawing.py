"""Functions of solutions/drawing.py: the course's own rules, and what tells probabilities."""

import difflib
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from grader.course.expressions import RULES
from grader.course.load import CourseFolder
from grader.errors import CourseError
from grader.key.reference import error_of
from grader.plan.rules import Rule
from grader.records.calls import Array, Call
from grader.worker.calls import Runner
from grader.worker.protocol import TensorKey

RULES_FILE = "drawing.py"
_NEAR = 1e-9  # how far from one probabilities may sum to


def load_rules(folder: CourseFolder) -> dict[str, Rule]:
    """Return the functions of the file by name, none where there is no file; raises CourseError.

    A rule takes the shape, the sizes of the case by letter and a generator of numpy's.
    """
    path = folder.solutions / RULES_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{path}: cannot be read: {error}") from None
    namespace: dict[str, object] = {"__name__": path.stem}
    try:
        exec(compile(text, str(path), "exec"), namespace)  # noqa: S102 - the course's own code
    except Exception as error:  # noqa: BLE001 - whatever it raises is a course error
        raise CourseError(f"{path}: {error_of(error, path)}") from None
    rules = {
        name: value
        for name, value in namespace.items()
        if inspect.isfunction(value) and value.__code__.co_filename == str(path)
    }
    if taken := sorted(set(rules) & set(RULES)):
        raise CourseError(f"{path}: '{taken[0]}' is a rule of grader's: give yours another name")
    return {name: rule for name, rule in rules.items() if not name.startswith("_")}


def chances_of(
    folder: CourseFolder, rules: Mapping[str, Rule], call: Call, runner: Runner
) -> Array:
    """Return how probable each draw of a call is; raises CourseError.

    The course's function is called as the target is.
    """
    path = folder.solutions / RULES_FILE
    where = f"{path}: on {call.id} '{call.chances}'"
    if call.chances not in rules:
        near = difflib.get_close_matches(call.chances, rules, 1)
        meant = f"; did you mean '{near[0]}'?" if near else ""
        raise CourseError(f"{path}: there is no function '{call.chances}'{meant}")
    chances = _called(rules[call.chances], call, runner, where, path)
    first = next(one for one in call.inputs if isinstance(one, TensorKey))
    rows = len(runner.targets.tensors[first.tensor])
    if chances.ndim < 2 or len(chances) != rows:
        raise CourseError(f"{where} returns the shape {chances.shape}, ({rows}, ...) is due")
    sums = chances.reshape(rows, -1).sum(axis=1)
    if not (chances >= 0).all() or abs(sums - 1).max() > _NEAR:
        raise CourseError(f"{where} returns what are no probabilities: each row should sum to one")
    return chances


def _called(
    function: Callable[..., object], call: Call, runner: Runner, where: str, path: Path
) -> Array:
    try:
        with torch.no_grad():
            made = function(*runner.targets.inputs(call.inputs), **call.options)
    except Exception as error:  # noqa: BLE001 - whatever it raises is a course error
        raise CourseError(f"{where} raises {error_of(error, path)}") from None
    if not isinstance(made, torch.Tensor) or made.dtype != torch.float64:
        raise CourseError(f"{where} does not return a tensor of float64")
    return made.numpy()
