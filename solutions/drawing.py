"""The course's own rules, by name: how inputs are drawn, and how probable what is drawn is."""

import torch


def ragged(shape, dims, generator):
    """Return lengths from 0 to m: nothing, all, and some between where there is room."""
    lengths = generator.integers(1, dims["m"], shape)
    places = generator.permutation(shape[0])
    lengths[places[0]] = dims["m"]
    lengths[places[1:2]] = 0
    return lengths


def text_lengths(shape, dims, generator):
    """Return how many tokens of each text are real: one all, another fewer, and two at least."""
    lengths = generator.integers(2, dims["t"] + 1, shape)
    full, short = generator.permutation(shape[0])[:2]
    lengths[full], lengths[short] = dims["t"], generator.integers(2, dims["t"])
    return lengths


def two_tokens(model, prompt, _, temperature=1.0, top_k=None):
    """Return the probabilities of the next two tokens, (b, v, v)."""
    tables = []
    for row in prompt:
        first = _chances(model, row.tolist(), temperature, top_k)
        second = [
            _chances(model, [*row.tolist(), token], temperature, top_k)
            for token in range(len(first))
        ]
        tables.append(first[:, None] * torch.stack(second))
    return torch.stack(tables)


def _chances(model, tokens, temperature, top_k):
    logits = model(torch.tensor([tokens[-model.max_len :]]))[0, -1]
    powers = (logits / temperature).exp()
    kept = powers * (logits >= logits.sort(descending=True).values[(top_k or len(logits)) - 1])
    return kept / kept.sum()
