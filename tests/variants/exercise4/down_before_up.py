"""The layer that comes last is made first: names tell them apart, and so do the shapes."""
from __future__ import annotations

from torch import Tensor, nn


class FeedForward(nn.Module):
    def __init__(
        self,
        embed_dim: int,
        *,
        hidden_dim: int | None = None,
        dropout: float = 0.0,
        activation: str = "relu",
    ) -> None:
        super().__init__()
        hidden_dim = hidden_dim if hidden_dim is not None else 4 * embed_dim
        self.dropout = nn.Dropout(dropout)
        self.down = nn.Linear(hidden_dim, embed_dim)
        self.up = nn.Linear(embed_dim, hidden_dim)
        self.activation = self._make_activation(activation)

    @staticmethod
    def _make_activation(name: str) -> nn.Module:
        if name == "relu":
            return nn.ReLU()
        if name == "gelu":
            return nn.GELU(approximate="none")
        raise ValueError(f"activation must be relu or gelu, got {name}")

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.down(self.activation(self.up(x))))
