"""Stand-in for exercise 4, made of torch's own functions."""

import torch.nn.functional as F
from torch import Tensor, nn


class FeedForward(nn.Module):
    """The position-wise feed-forward network."""

    def __init__(
        self,
        embed_dim: int,
        hidden_dim: int | None = None,
        dropout: float = 0.0,
        activation: str = "relu",
    ) -> None:
        """Make the layers."""
        super().__init__()
        if activation not in {"relu", "gelu"}:
            raise ValueError(f"unknown activation {activation!r}")
        self.options = (activation, dropout)
        self.expand = nn.Linear(embed_dim, hidden_dim or 4 * embed_dim)
        self.contract = nn.Linear(self.expand.out_features, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return the transformed x (b, t, k)."""
        activation, dropout = self.options
        transformed = self.contract(getattr(F, activation)(self.expand(x)))
        return F.dropout(transformed, dropout, self.training)
