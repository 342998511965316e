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
    ### BEGIN SOLUTION
    places = torch.arange(width, device=lengths.device)
    return places < lengths[:, None]
    ### END SOLUTION


# %%
def summary(x: Tensor, mask: Tensor | None = None) -> dict[str, Tensor | float]:
    """Return the mean and the least number of each row of x (n, t), and what share is real.

    The mean of nothing is 0, the least is infinite. The share is a number of Python's.
    """
    ### BEGIN SOLUTION
    mask = torch.ones_like(x, dtype=torch.bool) if mask is None else mask
    count = mask.sum(dim=1).clamp(min=1)
    mean = x.masked_fill(~mask, 0).sum(dim=1) / count
    least = x.masked_fill(~mask, float("inf")).amin(dim=1)
    return {"mean": mean, "least": least, "share": mask.sum().item() / mask.numel()}
    ### END SOLUTION


# %%
class Smooth(nn.Module):
    """Mix each place of x (n, t) with the others that a mask shows it, nearer ones more."""

    def __init__(self, size: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.rate = nn.Parameter(torch.ones(size))
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Place j scores rate[0] * |i - j| + rate[1] * j for place i; mask (t, t) or (n, 1, t)."""
        ### BEGIN SOLUTION
        places = torch.arange(x.size(1), device=x.device)
        apart = (places[:, None] - places[None, :]).abs()
        scores = (self.rate[0] * apart + self.rate[1] * places).expand(len(x), -1, -1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        kept = x if mask is None else x.masked_fill(~mask.any(dim=-2), 0)
        return self.dropout((scores.softmax(dim=-1) @ kept[:, :, None]).squeeze(-1))
        ### END SOLUTION
