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
        ### BEGIN SOLUTION
        if width < 1:
            raise ValueError(f"width must be positive, not {width}")
        self.decay_logit = nn.Parameter(torch.zeros(width))
        self.from_zero = from_zero
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Return the average after each row of x (n, m): (n, m)."""
        ### BEGIN SOLUTION
        keep = torch.sigmoid(self.decay_logit)  # (m,)
        average = torch.zeros_like(x[0]) if self.from_zero else x[0]
        averages = []
        for row in x:
            average = keep * average + (1 - keep) * row
            averages.append(average)
        return torch.stack(averages)
        ### END SOLUTION
