"""The course's own rules, by name: how inputs are drawn, and how probable what is drawn is."""

import re
from collections import Counter

import numpy as np
import torch


def ragged(shape, dims, generator):
    """Return lengths from 1 to m: one is m, and the others are less."""
    lengths = generator.integers(1, dims["m"], shape)
    lengths[generator.integers(shape[0])] = dims["m"]
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


def digits(count, shape, generator):
    """Return pictures of digits, 8 rows of 8 numbers from 0 to 1, and which digits they are.

    They are those of scikit-learn (UCI, Alpaydin and Kaynak 1998), each moved by up to one column
    and with noise. Those to be learnt and those that are asked for are of different pictures.
    """
    from sklearn.datasets import load_digits

    pictures, labels = load_digits(return_X_y=True)
    pictures = np.pad(pictures.reshape(-1, 8, 8), ((0, 0), (0, 0), (1, 1)))
    order = generator.permutation(len(labels))
    fourth = len(order) // 4

    def draw(number, pool):
        chosen = generator.choice(pool, number)
        moves = generator.integers(0, 3, number)
        moved = [pictures[i, :, x : x + 8] for i, x in zip(chosen, moves, strict=True)]
        noisy = np.round(np.stack(moved) + generator.normal(0, 0.5, (number, 8, 8)))
        return (noisy.clip(0, 16) / 16).astype(np.float16), labels[chosen].astype(np.uint8)

    return *draw(count, order[fourth:]), *draw(shape[0], order[:fourth]), ""


_LETTERS = 63  # that have numbers of their own; all others have the last


def manual(count, shape, generator):
    """Return pieces of Python's language reference, letter by letter, and the letters behind.

    The pages that are asked for are others than those to be learnt; no piece has letters of
    another one.
    """
    from pydoc_data.topics import topics

    pages = [re.sub(r"\s+", " ", topics[name]).lower() for name in sorted(topics)]
    common = [letter for letter, _ in Counter("".join(pages)).most_common(_LETTERS)]
    numbers = {letter: number for number, letter in enumerate(common)}

    def read(some):
        text = " ".join(pages[page] for page in some)
        return np.array([numbers.get(letter, _LETTERS) for letter in text], np.uint8)

    order = generator.permutation(len(pages))
    so_far = np.cumsum([len(pages[page]) for page in order])
    asked = int(np.searchsorted(so_far, so_far[-1] // 6)) + 1
    unseen, seen = read(order[:asked]), read(order[asked:])
    wanted, size = shape
    pieces = seen[generator.integers(0, len(seen) - size, count)[:, None] + np.arange(size + 1)]
    starts = np.arange(wanted) * (len(unseen) // wanted)
    new = unseen[starts[:, None] + np.arange(size + 1)]
    return pieces[:, :-1], pieces[:, 1:], new[:, :-1], new[:, -1], "".join(common) + "?"
