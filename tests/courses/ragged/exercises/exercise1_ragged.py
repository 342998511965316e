# %% [markdown]
# # Exercise 1: rows of several lengths
#
# Rows of several lengths stand in one table, padded to the longest. A mask tells what is real.

# %%
import torch
from torch import Tensor, nn


# %%
def valid(lengths: Tensor, width: int) -> Tensor:
    """Return which places of rows with these lengths (n,) are real: true and false, (n, t)."""
    raise NotImplementedError


# %%
def summary(x: Tensor, mask: Tensor | None = None) -> dict[str, Tensor | float]:
    """Return the mean and the least number of each row of x (n, t), and what share is real.

    The mean of nothing is 0, the least is infinite. The share is a number of Python's.
    """
    raise NotImplementedError


# %%
class Smooth(nn.Module):
    """Mix each place of x (n, t) with the others that a mask shows it, nearer ones more."""

    def __init__(self, size: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Place j scores rate[0] * |i - j| + rate[1] * j for place i; mask (t, t) or (n, 1, t)."""
        raise NotImplementedError
