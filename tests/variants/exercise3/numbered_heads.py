"""Heads are attributes with a number at the end, head_0 and on, outside of any list."""

import torch
from torch import nn
import itertools
def fold_heads(x, num_heads):
    d = x.shape[-1] // num_heads
    return torch.stack([x[n, :, h * d:(h + 1) * d] for n, h in itertools.product(range(x.shape[0]), range(num_heads))])
def unfold_heads(x, num_heads):
    return torch.stack([torch.hstack(tuple(x[i:i + num_heads])) for i in range(0, len(x), num_heads)])
class Head(nn.Module):
    def __init__(self, i, o, bias):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(i, o, bias=bias) for _ in range(3))
    def forward(self, x):
        return (self.query(x) @ self.key(x).mT / self.query.out_features ** .5).softmax(-1) @ self.value(x)
class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads: raise ValueError
        for i in range(num_heads):
            self.add_module(f"head_{i}", Head(embed_dim, head_dim or embed_dim // num_heads, bias))
        self.n = num_heads
        self.mix = nn.Linear((head_dim or embed_dim // num_heads) * num_heads, embed_dim)
    def forward(self, x):
        return self.mix(torch.cat([getattr(self, f"head_{i}")(x) for i in range(self.n)], -1))
