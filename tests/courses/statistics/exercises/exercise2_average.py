# %% [markdown]
# # Exercise 2: a running average
#
# An exponential moving average forgets: each step keeps a share of what was known and takes the
# rest from what is new. The share is trained, one for each column.

# %%
import torch
from torch import Tensor, nn


# %%
class ExponentialMovingAverage(nn.Module):
    """Average each column over the rows so far: a_0 = x_0, a_i = s a_(i-1) + (1 - s) x_i.

    Parameters: `decay_logit` (m,), where s is its sigmoid. With `from_zero` a_0 is (1 - s) x_0.
    """

    def __init__(self, width: int, *, from_zero: bool = False) -> None:
        """Make the parameter; raises ValueError where width is not positive."""
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Return the average after each row of x (n, m): (n, m)."""
        raise NotImplementedError
