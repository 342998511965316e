# %% [markdown]
# # Exercise 1: numbers that come one after the other
#
# A stream is never there at once: what is known of its past is handed on from piece to piece.

# %%
import torch
from torch import Tensor, nn


# %%
class Fading(nn.Module):
    """Blend each moment of x (n, t, k) with what is left of those before it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return y (n, t, k), where y_i = x_i + sigmoid(rate) * y_(i-1), and what is to hand on."""
        raise NotImplementedError


# %%
def follow(
    model: nn.Module,
    start: Tensor,
    count: int,
    *,
    greedy: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return start (n, t) and `count` numbers more, each drawn as the model says, or the likeliest.

    The model is in evaluation mode meanwhile.
    """
    raise NotImplementedError
