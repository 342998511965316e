"""Layers that have no bias where one is due."""

from dataclasses import replace

from grader.compare.evidence import Evidence, Judgement
from grader.compare.vocabulary import Vocabulary
from grader.records.answers import Answer
from grader.records.text import clean


def lacking_bias(evidence: Evidence, answer: Answer, outcome: Judgement) -> Judgement | None:
    """Say which layers lack a bias, and what to do; None where something else is missing."""
    words = evidence.words
    layers = _without_bias(answer, words)
    if not layers:
        return None
    several = len(layers) > 1
    named = " and ".join(f"`{clean(layer, 60)}`" for layer in layers)
    asked = outcome.case is not None and bool(outcome.case.options.get("bias"))
    step = words.bias_passed_on.format(named) if asked else ""
    return replace(
        outcome,
        message=f"{named} {'have' if several else 'has'} no bias"
        f"{', though bias=True is given' if asked else ', and should'}",
        detail="",
        next_step=step or words.biased.format("them" if several else "it"),
    )


def _without_bias(answer: Answer, words: Vocabulary) -> list[str]:
    """The layers that lack the biases sought; none where it is not biases alone, or not clear."""
    present = {one.name: tuple(one.shape) for one in answer.info.present}
    matrix, made = f".{words.matrix}", slice(-1, None) if words.turned_matrices else slice(1)
    layers = []
    for sought in answer.info.sought:
        stem, _, last = sought.name.rpartition(".")
        bare = [n.removesuffix(matrix) for n in present if n.endswith(matrix)]
        bare = [n for n in bare if f"{n}.bias" not in present]
        fitting = [n for n in bare if present[f"{n}{matrix}"][made] == tuple(sought.shape)]
        found = [stem] if stem in bare else fitting
        if last != "bias" or len(found) != 1:
            return []
        layers += found
    return layers
