"""A base class with a residual mixin, and small strategy objects for pre- and post-norm."""
from abc import ABC, abstractmethod
from typing import Callable

import torch
from torch import Tensor, nn

Transform = Callable[[Tensor], Tensor]


class Arrangement(ABC):
    @abstractmethod
    def __call__(self, x: Tensor, norm: Transform, branch: Transform) -> Tensor: ...


class PostNorm(Arrangement):
    def __call__(self, x, norm, branch):
        return norm(x + branch(x))


class PreNorm(Arrangement):
    def __call__(self, x, norm, branch):
        return x + branch(norm(x))


class ResidualMixin:
    arrangement: Arrangement
    drop: nn.Module

    def residual(self, x: Tensor, norm: nn.Module, sublayer: nn.Module) -> Tensor:
        return self.arrangement(x, norm, lambda y: self.drop(sublayer(y)))


class EncoderLayer(ResidualMixin, nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, *, norm_first: bool = False, dropout: float = 0.0):
        super().__init__()
        self.arrangement = PreNorm() if norm_first else PostNorm()
        self.drop = nn.Dropout(dropout) if dropout > 0 else nn.Identity()
        self.attention = attention
        self.norm_attn = nn.LayerNorm(embed_dim)
        self.feed_forward = feed_forward
        self.norm_ff = nn.LayerNorm(embed_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.residual(x, self.norm_attn, self.attention)
        return self.residual(x, self.norm_ff, self.feed_forward)
