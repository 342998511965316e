"""Says which of a layer's two parameters is its weight and which its bias."""

from collections.abc import Sequence
from dataclasses import replace

from grader.worker.layouts import Item

KINDS = {  # words by which a norm's two vectors go, alone and in lists
    "weight": ("weight", "scale", "gain", "gamma", "weights", "scales", "gains", "gammas"),
    "bias": ("bias", "shift", "offset", "beta", "biases", "shifts", "offsets", "betas"),
}
_STARTS = {"weight": 1, "bias": 0}


def name_pairs(items: Sequence[Item]) -> list[Item]:
    """Say which is the weight and which the bias of a layer that has two parameters.

    Shapes tell it, or one of two names; else the order does. Of vectors that no layer holds
    together it is told by what they begin as: a weight as ones, a bias as zeros.
    """
    layers: dict[str, list[Item]] = {}
    for item in items:
        if item.raw and (stem := stem_of(item.name)):
            layers.setdefault(stem, []).append(item)
    said: dict[str, Item] = {}
    for stem, own in layers.items():
        alone = sum(item.name.startswith(f"{stem}.") for item in items) == 2  # it holds no layer
        if len(own) == 2 and alone and (pair := _weight_and_bias(*own)):
            guessed = own[0].shape == own[1].shape and not any(_kind(one.name) for one in own)
            for one, last in zip(pair, KINDS, strict=True):
                said[one.name] = replace(one, said=f"{stem}.{last}", guessed=guessed)
    for item in items:
        untold = item.raw and item.name not in said and not _kind(item.name)
        if untold and (begins := _begins_as(item)):
            said[item.name] = replace(item, said=f"{item.name}.{begins}")
    return [said.get(item.name, item) for item in items]


def _weight_and_bias(one: Item, other: Item) -> tuple[Item, Item] | None:
    """Return two parameters of a layer as its weight and its bias, None where they are neither."""
    if one.shape == other.shape and len(one.shape) == 1:
        listed = last_of(one.name).isdigit()  # of two layers' scales, it may be
        if listed and (_kind(stem_of(one.name)) or _begins_as(one) == _begins_as(other) != ""):
            return None
        turned = _kind(one.name) == "bias" or _kind(other.name) == "weight"
        return (other, one) if turned else (one, other)
    weight, bias = sorted((one, other), key=lambda item: -len(item.shape))
    fits = (len(weight.shape), len(bias.shape)) == (2, 1) and bias.shape[0] in weight.shape
    return (weight, bias) if fits else None


def _begins_as(item: Item) -> str:
    """Whether a vector begins as a norm's weight does, or as a bias, "" for neither."""
    values = item.parameters[0].detach()
    if values.dim() != 1:
        return ""
    return next((kind for kind, start in _STARTS.items() if bool((values == start).all())), "")


def _kind(name: str) -> str:
    """Return whether a parameter's last word says weight or bias, "" where it says neither."""
    pieces = set(last_of(name).lower().split("_"))
    return next((kind for kind, words in KINDS.items() if pieces.intersection(words)), "")


def stem_of(name: str) -> str:
    """Return the name of what holds a parameter."""
    return name.rpartition(".")[0]


def last_of(name: str) -> str:
    """Return a parameter's own name."""
    return name.rpartition(".")[2]
