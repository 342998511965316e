"""A Residual module holds one sublayer, its norm and its dropout; the layer is two of them in a row."""
from __future__ import annotations

from torch import Tensor, nn


class Residual(nn.Module):
    """Skip connection round a sublayer, with the norm before or after."""

    def __init__(self, sublayer: nn.Module, size: int, *, norm_first: bool, dropout: float) -> None:
        super().__init__()
        self.sublayer = sublayer
        self.norm = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x: Tensor) -> Tensor:
        if self.norm_first:
            return x + self.dropout(self.sublayer(self.norm(x)))
        return self.norm(x + self.dropout(self.sublayer(x)))


class EncoderLayer(nn.Module):
    def __init__(
        self,
        attention: nn.Module,
        feed_forward: nn.Module,
        embed_dim: int,
        *,
        norm_first: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention_block = Residual(attention, embed_dim, norm_first=norm_first, dropout=dropout)
        self.feed_forward_block = Residual(feed_forward, embed_dim, norm_first=norm_first, dropout=dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.feed_forward_block(self.attention_block(x))
