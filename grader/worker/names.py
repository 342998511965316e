"""The names of what an answer tells: of its tensors, made and taken apart here, and of draws."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

_Tensor = TypeVar("_Tensor")


class Drew(StrEnum):
    """What drew numbers at random: dropout of each sample by itself, or something else as well."""

    NOTHING = "nothing"
    DROPOUT = "dropout"
    MORE = "more"  # beside it, or without it


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
MOST_SEEN = 256  # tensors of a run that are recorded
UNFINISHED = "unfinished"  # in place of a call that raised, or whose result is not kept
_BLOCK = re.compile(r"((?:[^.]+\.)*?\d+)\.(.+)")
_PLACE = re.compile(r"(\d{1,6},){4}\d{1,6}", re.ASCII)
_COMPARED = {
    Group.OUTPUT: (Group.OUTPUT,),
    Group.GRADIENT: (Group.INPUT_GRADIENT, Group.GRADIENT),
}


def tensor_name(group: Group, name: str | int = "") -> str:
    """Return a tensor's name in an answer."""
    return group.value if name == "" else f"{group}/{name}"


def seen_name(number: int, operation: str, place: Sequence[int], call: str) -> str:
    """Return the name of a tensor that an operation made in a recorded run.

    `place` is where in the submission's text, as `place_of` tells it; `call` within which call of
    the submission's, "" where a line of its own did it.
    """
    where = ",".join(map(str, place))
    return tensor_name(Group.SEEN, f"{number:03}/{operation}/{where}/{call}")


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


def is_bias(role: str) -> bool:
    """Whether a parameter is a bias, of a layer or of the module itself."""
    return role.rpartition(".")[2] == "bias"


def block_of(role: str) -> tuple[str, str]:
    """Return which block of a stack a role lies in, "" for none, and its name in the block.

    `decoder.0.norm1.weight` is `norm1.weight` in `decoder.0`.
    """
    found = _BLOCK.match(role)
    return (found.group(1), found.group(2)) if found else ("", role)


def name_of(tensor: str) -> str:
    """Return a tensor's name in its group."""
    return tensor.partition("/")[2]


def operation_of(seen: str) -> str:
    """Return which operation made a tensor of a recorded run, from its name in the group."""
    return _part(seen, 1)


def place_of(seen: str) -> tuple[int, ...]:
    """Return where in the submission's text a tensor of a recorded run was made, () for nowhere.

    It is the number of the file or cell, by the order of their labels; the first and last line;
    and the first and last byte in them.
    """
    where = _part(seen, 2)
    return tuple(map(int, where.split(","))) if _PLACE.fullmatch(where) else ()


def call_of(seen: str) -> str:
    """Return within which call a tensor of a recorded run was made, "" where in none."""
    return _part(seen, 3)


def _part(seen: str, number: int) -> str:
    """A part of the name of a recorded tensor, "" where a child that was tampered with left it."""
    parts = seen.split("/", 3)
    return parts[number] if number < len(parts) else ""


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
