"""pre and post are methods, one of which becomes forward's worker when the layer is made."""
from typing import Callable

from torch import Tensor, nn


class EncoderLayer(nn.Module):
    def __init__(
        self,
        attention: nn.Module,
        feed_forward: nn.Module,
        embed_dim: int,
        norm_first: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.norm1 = nn.LayerNorm(embed_dim, eps=1e-5)
        self.norm2 = nn.LayerNorm(embed_dim, eps=1e-5)
        self.drop = nn.Dropout(dropout)
        self.arrangement = "pre" if norm_first else "post"

    def _pre(self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return x + self.drop(sublayer(norm(x)))

    def _post(self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return norm(x + self.drop(sublayer(x)))

    def forward(self, x: Tensor) -> Tensor:
        step = getattr(self, f"_{self.arrangement}")
        x = step(x, self.norm1, self.attention)
        return step(x, self.norm2, self.feed_forward)
