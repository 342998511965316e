"""A loop over heads that takes each head's rows out of the three weights."""
import torch
import torch.nn.functional as F
from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.shape
    return x.reshape(b, t, num_heads, width // num_heads).transpose(1, 2).reshape(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    return x.reshape(rows // num_heads, num_heads, t, d).transpose(1, 2).reshape(rows // num_heads, t, -1)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("embed_dim must be divisible by num_heads")
            head_dim = embed_dim // num_heads
        self.h, self.d = num_heads, head_dim
        self.queries = nn.Linear(embed_dim, num_heads * head_dim, bias=bias)
        self.keys = nn.Linear(embed_dim, num_heads * head_dim, bias=bias)
        self.values = nn.Linear(embed_dim, num_heads * head_dim, bias=bias)
        self.unify = nn.Linear(num_heads * head_dim, embed_dim)

    def part(self, layer, x, i):
        rows = slice(i * self.d, (i + 1) * self.d)
        return F.linear(x, layer.weight[rows], None if layer.bias is None else layer.bias[rows])

    def forward(self, x):
        heads = []
        for i in range(self.h):
            q, k, v = (self.part(layer, x, i) for layer in (self.queries, self.keys, self.values))
            heads.append(F.softmax(q @ k.transpose(1, 2) / self.d**0.5, dim=-1) @ v)
        return self.unify(torch.cat(heads, dim=2))
