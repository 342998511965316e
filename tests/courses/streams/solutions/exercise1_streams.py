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
        ### BEGIN SOLUTION
        self.rate = nn.Parameter(torch.zeros(size))
        ### END SOLUTION

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return y (n, t, k), where y_i = x_i + sigmoid(rate) * y_(i-1), and what is to hand on."""
        ### BEGIN SOLUTION
        left = self.rate.sigmoid()
        last = torch.zeros_like(x[:, 0]) if past is None else past
        faded = []
        for moment in x.unbind(dim=1):
            last = moment + left * last
            faded.append(last)
        return torch.stack(faded, dim=1), last
        ### END SOLUTION


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
    ### BEGIN SOLUTION
    training = model.training
    model.eval()
    numbers = start
    for _ in range(count):
        chances = model(numbers)[:, -1].softmax(dim=-1)
        likeliest = chances.argmax(dim=-1, keepdim=True)
        drawn = likeliest if greedy else torch.multinomial(chances, 1, generator=generator)
        numbers = torch.cat([numbers, drawn], dim=1)
    model.train(training)
    return numbers
    ### END SOLUTION
