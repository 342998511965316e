"""A local function that happens to share torch's name, scaled_dot_product_attention, and a dataclass config."""
from __future__ import annotations

import dataclasses
import math

import torch
import torch.nn as nn


@dataclasses.dataclass(frozen=True)
class HeadConfig:
    embed_dim: int
    head_dim: int
    bias: bool = False

    def linear(self) -> nn.Linear:
        return nn.Linear(self.embed_dim, self.head_dim, bias=self.bias)


def scaled_dot_product_attention(q, k, v):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(k.shape[-1])
    return torch.matmul(scores.softmax(-1), v)


class QKVProjection(nn.Module):
    def __init__(self, embed_dim: int, head_dim: int, bias: bool = False):
        super().__init__()
        config = HeadConfig(embed_dim, head_dim, bias)
        self.lin_q, self.lin_k, self.lin_v = config.linear(), config.linear(), config.linear()

    def forward(self, x):
        return self.lin_q(x), self.lin_k(x), self.lin_v(x)


class AttentionHead(nn.Module):
    def __init__(self, embed_dim: int, head_dim: int, bias: bool = False):
        super().__init__()
        config = HeadConfig(embed_dim, head_dim, bias=bias)
        self.q = config.linear()
        self.k = config.linear()
        self.v = config.linear()

    def forward(self, x):
        return scaled_dot_product_attention(self.q(x), self.k(x), self.v(x))
