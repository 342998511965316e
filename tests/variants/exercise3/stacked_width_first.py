"""Raw (d, h, k) parameters throughout: the width of a head stands before the heads."""
import math
from typing import Optional

import torch
from torch import Tensor, nn


def fold_heads(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2).flatten(0, 1)


def unfold_heads(x: Tensor, num_heads: int) -> Tensor:
    return x.unflatten(0, (-1, num_heads)).transpose(1, 2).flatten(-2)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, *, head_dim: Optional[int] = None, bias: bool = False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads:
                raise ValueError("head_dim is needed where num_heads does not divide embed_dim")
            head_dim = embed_dim // num_heads
        shape = (head_dim, num_heads, embed_dim)
        self.Wq = nn.Parameter(torch.randn(shape) / math.sqrt(embed_dim))
        self.Wk = nn.Parameter(torch.randn(shape) / math.sqrt(embed_dim))
        self.Wv = nn.Parameter(torch.randn(shape) / math.sqrt(embed_dim))
        self.bias = bias
        if bias:
            self.bq = nn.Parameter(torch.zeros(num_heads, 1, head_dim))
            self.bk = nn.Parameter(torch.zeros(num_heads, 1, head_dim))
            self.bv = nn.Parameter(torch.zeros(num_heads, 1, head_dim))
        self.Wo = nn.Parameter(torch.randn(shape) / math.sqrt(num_heads * head_dim))
        self.bo = nn.Parameter(torch.zeros(embed_dim))

    def forward(self, x: Tensor) -> Tensor:
        q = torch.einsum("btk,dhk->bhtd", x, self.Wq)
        k = torch.einsum("btk,dhk->bhtd", x, self.Wk)
        v = torch.einsum("btk,dhk->bhtd", x, self.Wv)
        if self.bias:
            q, k, v = q + self.bq, k + self.bk, v + self.bv
        q = q * q.shape[-1] ** -0.5
        weights = torch.softmax(q @ k.mT, dim=-1)
        return torch.einsum("bhtd,dhk->btk", weights @ v, self.Wo) + self.bo
