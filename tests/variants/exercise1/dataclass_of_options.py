"""A frozen dataclass holds the scale, a method does the work, and functions wrap it; typed throughout."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Attention:
    scale: Optional[float] = None

    def factor(self, width: int) -> float:
        return width ** (-1 / 2) if self.scale is None else self.scale

    def weights(self, a: Tensor, b: Tensor) -> Tensor:
        return F.softmax(torch.bmm(a * self.factor(a.size(-1)), b.mT), dim=-1)

    def __call__(self, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return torch.bmm(self.weights(a, b), c)


def self_attention(x: Tensor) -> Tensor:
    return Attention(scale=1.0)(x, x, x)


def attention_weights(query: Tensor, key: Tensor, *, scale: Optional[float] = None) -> Tensor:
    return Attention(scale).weights(query, key)


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, *, scale: Optional[float] = None) -> Tensor:
    return Attention(scale)(query, key, value)
