"""Reuses scaled_dot_product_attention from exercise 1 and keeps this file to the projection."""
from __future__ import annotations

from exercise1_attention import scaled_dot_product_attention
from torch import Tensor, nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim: int, head_dim: int, *, bias: bool = False) -> None:
        super().__init__()
        for role in ("to_queries", "to_keys", "to_values"):
            setattr(self, role, nn.Linear(embed_dim, head_dim, bias=bias))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.to_queries(x), self.to_keys(x), self.to_values(x)


class AttentionHead(nn.Module):
    def __init__(self, embed_dim: int, head_dim: int, *, bias: bool = False) -> None:
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return scaled_dot_product_attention(*self.projection(x))
