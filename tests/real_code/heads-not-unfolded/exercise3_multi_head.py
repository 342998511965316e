import torch
import torch.nn as nn
import torch.nn.functional as F


def fold_heads(x, num_heads):
    b, t, e = x.shape
    d = e // num_heads
    return x.view(b, t, num_heads, d).transpose(1, 2).reshape(b * num_heads, t, d)


def unfold_heads(x, num_heads):
    bh, t, d = x.shape
    b = bh // num_heads
    return x.view(b, num_heads, t, d).transpose(1, 2).reshape(b, t, num_heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads:
            raise ValueError("no")
        self.h = num_heads
        d = self.d = head_dim or embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, d * num_heads, bias=bias)
        self.to_keys = nn.Linear(embed_dim, d * num_heads, bias=bias)
        self.to_values = nn.Linear(embed_dim, d * num_heads, bias=bias)
        self.unify_heads = nn.Linear(d * num_heads, embed_dim)

    def forward(self, x):
        q = fold_heads(self.to_queries(x), self.h)
        k = fold_heads(self.to_keys(x), self.h)
        v = fold_heads(self.to_values(x), self.h)
        w = torch.softmax(q @ k.transpose(1, 2) / self.d**0.5, -1)
        return self.unify_heads(w @ v)
