"""The names of the tensors in an answer: the one place that makes them and takes them apart."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

_Tensor = TypeVar("_Tensor")


class Group(StrEnum):
    """What a tensor of an answer is, and by what it is named in its group."""

    OUTPUT = "output"  # by the output's name
    GRADIENT = "grad"  # of a parameter, by its role
    INPUT_GRADIENT = "grad-of-input"  # by the input's place
    INPUT = "input"  # as it is after the call, by the input's place
    MEAN = "mean"  # of an output over many masks, by the output's name
    SECOND = "second"  # its second moment about the mean
    FOURTH = "fourth"
    TOGETHER = "together"  # the mean product of neighbours' errors, along each axis of a sample
    TOGETHER_SECOND = "together-second"  # the second moment of that product
    BEFORE = "before"  # the output before training
    AFTER = "after"
    LOSSES = "losses"  # of each step of learning
    WRITTEN = "written"  # by a model of sequences, by the step of learning
    MIXED = "mixed"  # how a trained model mixes the places of one sample: weights (n, t, t)
    LABELS = "labels"  # of the course: what is due for each unseen sample
    LETTERS = "letters"  # of the course: which letter each token is, as a code point
    DRAWN = "drawn"  # what was drawn, by the seeds that it was drawn with
    CHANCES = "chances"  # of the course: how probable each draw is
    SEEN = "seen"  # what a recorded run made, by its number and the operation
    HELD = "held"  # what a variable of a recorded run held, by a number and the variable's name
    STEP = "step"  # of the reference, by the step's name


GIVEN = "input"  # in place of an operation: what came in
_COMPARED = {
    Group.OUTPUT: (Group.OUTPUT,),
    Group.GRADIENT: (Group.INPUT_GRADIENT, Group.GRADIENT),
}


def tensor_name(group: Group, name: str | int = "") -> str:
    """Return a tensor's name in an answer."""
    return group.value if name == "" else f"{group}/{name}"


def seen_name(number: int, operation: str, call: str) -> str:
    """Return the name of a tensor that an operation made in a recorded run.

    `call` tells within which call of the submission's, "" where a line of its own did it.
    """
    return tensor_name(Group.SEEN, f"{number:03}/{operation}/{call}")


def held_name(number: int, variable: str) -> str:
    """Return the name of a tensor that a variable held in a recorded run."""
    return tensor_name(Group.HELD, f"{number:03}/{variable}")


def group_of(tensor: str) -> Group:
    """Return the group that a tensor's name tells; raises ValueError."""
    return Group(tensor.partition("/")[0])


def list_pattern(name: str) -> str:
    """Return a pattern for the members of a list of parameters, which is called `heads.*.weight`.

    Only the first star stands for a number: a pattern of many could be matched for ever.
    """
    return re.escape(name).replace(r"\*", r"\d+", 1)


def name_of(tensor: str) -> str:
    """Return a tensor's name in its group."""
    return tensor.partition("/")[2]


def operation_of(seen: str) -> str:
    """Return which operation made a tensor of a recorded run, from its name in the group."""
    return seen.partition("/")[2].partition("/")[0]


def call_of(seen: str) -> str:
    """Return within which call a tensor of a recorded run was made, "" where in none."""
    return seen.partition("/")[2].partition("/")[2]


def variable_of(held: str) -> str:
    """Return which variable held a tensor of a recorded run, from its name in the group."""
    return held.partition("/")[2]


def of_group(tensors: Mapping[str, _Tensor], group: Group) -> dict[str, _Tensor]:
    """Return an answer's tensors of one group, by their names in it."""
    start = f"{group}/"
    return {n.removeprefix(start): value for n, value in tensors.items() if n.startswith(start)}


def compared(tensors: Mapping[str, _Tensor], group: Group) -> dict[str, _Tensor]:
    """Return the outputs of an answer, or all of its gradients, by their full names."""
    starts = tuple(f"{one}/" for one in _COMPARED[group])
    return {name: value for name, value in tensors.items() if name.startswith(starts)}
