"""The defaults of a submission's own signature, beside those that are asked for."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from grader.worker.protocol import DefaultClaim, Scalar

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_NONE = inspect.Parameter.empty
_NUMBERS = (bool, int, float)
_SHOWN = 60  # characters of a default that are told


def own_defaults(function: Callable[..., Any]) -> Mapping[str, object]:
    """Return the default of each argument that can be given by name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of what Python cannot look into
        return {}
    return {one.name: one.default for one in parameters if one.kind in _NAMED}


def other_defaults(own: Mapping[str, object], asked: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return what is asked for of the arguments whose own default is another, or is not there.

    What None stands for only the code knows. An object, as a function in place of its name, says
    that the argument means something else: it is left alone.
    """
    return {
        name: value for name, value in asked.items() if name in own and _differs(own[name], value)
    }


def claim_defaults(own: Mapping[str, object], others: Collection[str]) -> list[DefaultClaim]:
    """Return what is told of the arguments that have others."""
    return [
        DefaultClaim(name, "" if own.get(name, _NONE) is _NONE else repr(own[name])[:_SHOWN])
        for name in others
    ]


def required(own: Mapping[str, object], places: int, spare: int, nones: Sequence[str]) -> list[str]:
    """Return what a signature has no default for, though None is due: by name or by place.

    So many `places` are given, and `spare` ones behind them are not.
    """
    names = list(own)
    behind = names[places : places + spare]
    return [n for n in names[places:] if own[n] is _NONE and (n in nones or n in behind)]


def _differs(own: object, asked: Scalar) -> bool:
    alike = (str,) if type(asked) is str else _NUMBERS
    return own is None or own is _NONE or (type(own) in alike and own != asked)
