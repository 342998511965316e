"""Given modules see what they are shown, and nothing else."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from grader.worker.probes import build_probe
from grader.worker.protocol import Probe

X, MEMORY = (torch.randn(2, size, 3, dtype=torch.float64) for size in (4, 5))


def probe(name: str, **more: Any) -> nn.Module:
    """Return a probe with random values."""
    given = Probe(name, "own", "mixed", **more)
    return build_probe(given, *(torch.randn(3, 3, dtype=torch.float64) for _ in range(2)))


def moved(before: Tensor, after: Tensor) -> list[bool]:
    """Return which positions of the first sample have moved."""
    found: list[bool] = (before[0] != after[0]).any(-1).tolist()
    return found


def test_masked_sees_what_the_mask_shows() -> None:
    given, mask = probe("masked"), torch.ones(4, 4).tril().bool()
    other = X.clone()
    other[:, 2] += 1
    assert moved(given(X, mask), given(other, mask)) == [False, False, True, True]
    assert moved(given(X), given(other)) == [True] * 4


def test_crossing_sees_what_the_mask_shows() -> None:
    given, mask = probe("crossing"), torch.tensor([[True] * 3 + [False] * 2] * 2)
    other = MEMORY.clone()
    other[:, 3:] += 1
    assert moved(given(X, MEMORY, mask), given(X, other, mask)) == [False] * 4
    assert moved(given(X, MEMORY), given(X, other)) == [True] * 4
    assert given(X, MEMORY, ~mask & mask).isfinite().all()
    assert given(x=X, memory=MEMORY, memory_mask=mask).equal(given(X, MEMORY, mask))


def test_dropping_shows_its_mode() -> None:
    given = probe("dropping")
    due = given(X)
    due[..., 1::2] = 0
    due[..., ::2] *= 2
    assert given.train()(X).equal(due)
    assert probe("dropping", training=True).training


@pytest.mark.parametrize("name", ["predicting", "deciding"])
def test_given_model_shows_its_mode(name: str) -> None:
    given, tokens = probe(name, max_len=4), torch.tensor([[0, 1, 2], [2, 1, 0]])
    assert not given.train()(tokens).equal(given.eval()(tokens))


@pytest.mark.parametrize("name", ["masked", "crossing"])
def test_probe_refuses_masks_of_numbers(name: str) -> None:
    arguments = (X, MEMORY) if name == "crossing" else (X,)
    with pytest.raises(ValueError, match="a mask of true and false"):
        probe(name)(*arguments, torch.ones(2, 5))


def test_model_sees_tokens_so_far_and_where_they_stand() -> None:
    given, tokens = probe("predicting", max_len=5), torch.tensor([[0, 1, 2, 1]])
    other = torch.tensor([[0, 2, 2, 1]])
    assert given(tokens).shape == (1, 4, 3)
    assert moved(given(tokens), given(other)) == [False, True, True, True]
    turned = torch.tensor([[1, 0, 2, 1]])
    assert moved(given(tokens), given(turned)) == [True] * 4
    assert moved(given(tokens)[:, 1:], given(tokens[:, 1:])) == [True] * 3


@pytest.mark.parametrize("shape", [(1, 6), (1, 0), (3,)], ids=["long", "empty", "flat"])
def test_model_refuses_more_than_it_takes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"takes tokens \(batch, 1 to 5\)"):
        probe("predicting", max_len=5)(torch.zeros(shape, dtype=torch.int64))


def test_given_modules_come_in_their_mode() -> None:
    assert [probe("mixing").training, probe("mixing", training=True).training] == [False, True]
