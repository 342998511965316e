"""A match statement chooses the layer; forward walks through a ModuleList."""
from torch import Tensor, nn


def activation_layer(name: str) -> nn.Module:
    match name:
        case "relu":
            return nn.ReLU()
        case "gelu":
            return nn.GELU(approximate="none")
        case other:
            raise ValueError(f"unknown activation {other!r}")


class FeedForward(nn.Module):
    def __init__(self, embed_dim: int, *, hidden_dim: int | None = None, dropout: float = 0.0, activation: str = "relu"):
        super().__init__()
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        self.layers = nn.ModuleList(
            (
                nn.Linear(embed_dim, hidden_dim),
                activation_layer(activation),
                nn.Linear(hidden_dim, embed_dim),
                nn.Dropout(p=dropout),
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x
