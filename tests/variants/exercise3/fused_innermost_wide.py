"""One layer whose rows hold query, key and value side by side; heads of any size."""

import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.shape
    heads = x.reshape(b, t, num_heads, width // num_heads)
    return heads.transpose(1, 2).reshape(b * num_heads, t, width // num_heads)


def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    heads = x.reshape(rows // num_heads, num_heads, t, d)
    return heads.transpose(1, 2).reshape(rows // num_heads, t, num_heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads != 0:
            raise ValueError("num_heads must divide embed_dim")
        self.num_heads = num_heads
        self.size = embed_dim // num_heads if head_dim is None else head_dim
        self.qkv = nn.Linear(embed_dim, 3 * num_heads * self.size, bias=bias)
        self.out = nn.Linear(num_heads * self.size, embed_dim)

    def forward(self, x):
        b, t, _ = x.shape
        together = self.qkv(x).reshape(b, t, self.num_heads, self.size, 3)
        q, k, v = together.unbind(-1)
        weights = (torch.einsum("bqhd,bkhd->bhqk", q, k) * self.size**-0.5).softmax(-1)
        mixed = torch.einsum("bhqk,bkhd->bqhd", weights, v)
        return self.out(mixed.reshape(b, t, -1))
