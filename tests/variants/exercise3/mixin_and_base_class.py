"""An abstract base does the bookkeeping, a mixin the head layout, and the class itself only the attention."""
from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class HeadLayoutMixin:
    num_heads: int

    def split_heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, x.size(-1) // self.num_heads)).transpose(-3, -2)

    def join_heads(self, x: Tensor) -> Tensor:
        return x.transpose(-3, -2).flatten(-2)


def fold_heads(x: Tensor, num_heads: int) -> Tensor:
    layout = HeadLayoutMixin()
    layout.num_heads = num_heads
    return layout.split_heads(x).flatten(0, 1)


def unfold_heads(x: Tensor, num_heads: int) -> Tensor:
    layout = HeadLayoutMixin()
    layout.num_heads = num_heads
    return layout.join_heads(x.unflatten(0, (x.size(0) // num_heads, num_heads)))


class ProjectedAttention(nn.Module, ABC):
    def __init__(self, embed_dim: int, num_heads: int, head_dim: int, bias: bool) -> None:
        super().__init__()
        self.num_heads = num_heads
        width = num_heads * head_dim
        self.wo = nn.Linear(width, embed_dim)
        self.wq = nn.Linear(embed_dim, width, bias=bias)
        self.wk = nn.Linear(embed_dim, width, bias=bias)
        self.wv = nn.Linear(embed_dim, width, bias=bias)

    @abstractmethod
    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor: ...

    def forward(self, x: Tensor) -> Tensor:
        return self.wo(self.attend(self.wq(x), self.wk(x), self.wv(x)))


class MultiHeadSelfAttention(HeadLayoutMixin, ProjectedAttention):
    def __init__(self, embed_dim: int, num_heads: int, head_dim: int | None = None, bias: bool = False) -> None:
        if head_dim is None:
            if embed_dim % num_heads:
                raise ValueError(f"cannot divide {embed_dim} by {num_heads}")
            head_dim = embed_dim // num_heads
        super().__init__(embed_dim, num_heads, head_dim, bias)

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = map(self.split_heads, (q, k, v))
        scores = torch.matmul(q, k.transpose(-1, -2)) * q.size(-1) ** -0.5
        scores = scores - scores.max(dim=-1, keepdim=True)[0]
        weights = scores.exp()
        return self.join_heads(torch.matmul(weights / weights.sum(-1, keepdim=True), v))
