"""Given sublayers see what their masks show, and nothing else."""

import pytest
import torch
from torch import Tensor, nn

from grader.worker.probes import build_probe

X, MEMORY = (torch.randn(2, size, 3, dtype=torch.float64) for size in (4, 5))


def probe(name: str) -> nn.Module:
    """Return a probe with random values."""
    return build_probe(name, *(torch.randn(3, 3, dtype=torch.float64) for _ in range(2)))


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


@pytest.mark.parametrize("name", ["masked", "crossing"])
def test_probe_refuses_masks_of_numbers(name: str) -> None:
    arguments = (X, MEMORY) if name == "crossing" else (X,)
    with pytest.raises(ValueError, match="a mask of true and false"):
        probe(name)(*arguments, torch.ones(2, 5))
