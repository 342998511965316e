"""Says of a layer of the wrong size how many numbers it takes or returns, and how many it should.

The sizes have the names that the course gives them, as `num_heads * head_dim`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod

from grader.compare.evidence import RESIZE, SPLIT_BEFORE, Evidence, Judgement
from grader.course.models import Target
from grader.records.answers import Answer, ParameterShape
from grader.records.calls import PLAIN, DrawnCase
from grader.records.text import clean
from grader.worker.protocol import Role, RoleKind

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")
_VERBS = ("return", "take")  # of a layer's matrix (out, in)
_AFFIXES = ("to", "w", "lin", "linear", "fc", "proj", "layer")


def fitting(
    there: Sequence[ParameterShape], due: Iterable[Sequence[int]]
) -> list[tuple[ParameterShape, bool]]:
    """Return parameters, each with whether it has a shape that is due and that none before took."""
    left = Counter(map(tuple, due))
    found = []
    for one in there:
        shape = tuple(one.shape)
        found.append((one, left[shape] > 0))
        left[shape] -= 1
    return found


def missized(evidence: Evidence, answer: Answer, outcome: Judgement) -> Judgement | None:
    """Say what the layers return or take that have the names, and not the sizes, of those sought.

    None where some of what is sought has another cause, or no name tells which layer it is.
    """
    if (case := outcome.case) is None:
        return None
    turned = evidence.words.turned_matrices
    parts = set[int]()  # as how many of what a layer got would be due
    said: dict[tuple[tuple[str, int, str], ...], list[str]] = {}  # the layers that do the same
    for sought in answer.info.sought:
        role = evidence.roles.get(sought.name)
        own = _by_name(evidence, answer, role) if role else []
        if role is None or role.kind is not RoleKind.LINEAR or len(own) != 1:
            return None
        shape = own[0].shape[::-1] if turned else own[0].shape
        places = [place for place in (0, 1) if shape[place] != sought.shape[place]]
        if not places:
            return None
        parts.add(_parts(shape, sought.shape))
        what = tuple(
            (_VERBS[place], shape[place], _due(evidence, role, place, sought, case))
            for place in places
        )
        said.setdefault(what, []).append(f"`{clean(own[0].name.rpartition('.')[0], 60)}`")
    split = len(parts) == 1 and min(parts) > 1 and min(parts) in case.dims.values()
    message = "; ".join(_sentence(layers, what) for what, layers in said.items())
    step = SPLIT_BEFORE if split else RESIZE
    return replace(outcome, message=message, detail="", next_step=step) if message else None


def _parts(came: Sequence[int], due: Sequence[int]) -> int:
    """As how many of one size the other is, along both axes; 0 where that is no number."""
    ratios = {divmod(whole, max(part, 1)) for part, whole in zip(came, due, strict=True)}
    (number, left), *others = ratios
    return 0 if others or left else number


def _sentence(layers: Sequence[str], what: Sequence[tuple[str, int, str]]) -> str:
    several = len(layers) > 1
    did = f"; {'they' if several else 'it'} ".join(
        f"{verb}{'' if several else 's'} {came} numbers, and should {verb} {due}"
        for verb, came, due in what
    )
    named = f"{', '.join(layers[:-1])} and {layers[-1]}" if several else layers[0]
    return f"{named} {did}"


def _due(
    evidence: Evidence, role: Role, place: int, sought: ParameterShape, case: DrawnCase
) -> str:
    named = _named_size(evidence, role, place, case)
    return f"{named} = {sought.shape[place]}" if named else str(sought.shape[place])


def _by_name(evidence: Evidence, answer: Answer, role: Role) -> list[ParameterShape]:
    """The matrices of layers whose own name is a name of the role's."""
    stem, _, last = role.name.rpartition(".")
    known = {stem.rpartition(".")[2].lower(), *(alias.lower() for alias in role.aliases)}
    matrix = f".{evidence.words.matrix}"
    return [
        one
        for one in answer.info.present
        if last == "weight" and one.name.endswith(matrix) and len(one.shape) == 2
        if not known.isdisjoint(_readings(one.name.removesuffix(matrix)))
    ]


def _readings(layer: str) -> set[str]:
    """The ways to read a layer's name: whole, and without what many names begin or end with."""
    own = layer.rpartition(".")[2]
    pieces = [piece.lower() for piece in _CAMEL.split(own)]
    core = "_".join(piece for piece in pieces if piece not in _AFFIXES)
    return {own.lower(), core, core.removeprefix("w")}


def _named_size(evidence: Evidence, role: Role, place: int, case: DrawnCase) -> str:
    """Return an axis of a role in the course's names: what is so wherever it can be, "" for none.

    Sizes that are equal in one case are not in another: what holds most often is what is meant.
    """
    target, plan = evidence.target, evidence.key.plan
    names = _names_of_dims(target)
    sizes = [
        (plan.case(call.target, call.case), one.shape[place])
        for call in evidence.calls
        for one in call.roles
        if one.name == role.name
    ]
    best, most = "", 0
    for letters in [*((n,) for n in names), *combinations(names, 2)]:
        fits = [_product(letters, own.dims) == size for own, size in sizes]
        plain = [fit for fit, (own, _) in zip(fits, sizes, strict=True) if own.group == PLAIN]
        if all(plain) and sum(fits) > most and set(letters) <= case.dims.keys():
            best, most = " * ".join(names[letter] for letter in letters), sum(fits)
    return best


def _names_of_dims(target: Target) -> dict[str, str]:
    """The arguments by the dims that they give, as they are called: `k` is `embed_dim`."""
    dims = {*target.dims, *(name for case in target.cases for name in case.dims)}
    given = [*target.constructor.items()]
    options = [(name, str(value)) for case in target.cases for name, value in case.options.items()]
    found: dict[str, str] = {}
    for name, value in [*given, *options]:
        if str(value) in dims:
            found.setdefault(str(value), name)
    return found


def _product(letters: Sequence[str], dims: Mapping[str, int]) -> int:
    return prod(dims.get(letter, 0) for letter in letters)
