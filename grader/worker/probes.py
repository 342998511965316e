"""Given sublayers: small modules with parameters of a case, that reveal nothing of a solution.

Each maps (b, t, k) to (b, t, k). `mixing` blends in the mean over time, so it keeps the
permutation of positions; `pointwise` sees one position at a time.
"""

import torch
from torch import Tensor, nn


class GivenSublayer(nn.Module):
    """tanh(x own [+ mean over time of x, mixed])."""

    def __init__(self, own: Tensor, mixed: Tensor, *, mixing: bool) -> None:
        super().__init__()
        self.own = nn.Parameter(own)
        self.mixed = nn.Parameter(mixed)
        self.mixing = mixing

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of x's shape (b, t, k)."""
        if x.dim() != 3 or x.size(-1) != self.own.size(0):
            raise ValueError(
                f"the given sublayer takes (batch, time, {self.own.size(0)}), got {tuple(x.shape)}"
            )
        other = x.mean(dim=1, keepdim=True).expand_as(x) if self.mixing else x.flip(-1)
        return torch.tanh(x @ self.own + other @ self.mixed)


def build_probe(name: str, own: Tensor, mixed: Tensor) -> GivenSublayer:
    """Return the probe of that name with a case's values."""
    return GivenSublayer(own, mixed, mixing=name == "mixing")
