"""Each sample of the batch by itself: (t, h*d) to (h, t, d), baddbmm for its scores, stack at the end."""
from functools import partial

import torch
from torch import nn


def _split(x, num_heads):
    """(t, h*d) to (h, t, d)"""
    return x.unflatten(1, (num_heads, -1)).permute(1, 0, 2)


def _merge(x):
    """(h, t, d) to (t, h*d)"""
    return x.permute(1, 0, 2).flatten(1)


def fold_heads(x, num_heads):
    return torch.cat([_split(sample, num_heads) for sample in x])


def unfold_heads(x, num_heads):
    return torch.stack([_merge(sample) for sample in x.split(num_heads)])


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads != 0:
            raise ValueError("pass head_dim, or a num_heads that divides embed_dim")
        head_dim = head_dim or embed_dim // num_heads
        projection = partial(nn.Linear, embed_dim, num_heads * head_dim, bias=bias)
        self.lin_q, self.lin_k, self.lin_v = projection(), projection(), projection()
        self.lin_out = nn.Linear(num_heads * head_dim, embed_dim, bias=True)
        self.h = num_heads
        self.alpha = head_dim**-0.5

    def _one(self, sample):
        q, k, v = (_split(lin(sample), self.h) for lin in (self.lin_q, self.lin_k, self.lin_v))
        scores = torch.baddbmm(q.new_zeros(1, 1, 1), q, k.transpose(1, 2), alpha=self.alpha)
        return _merge(scores.softmax(2) @ v)

    def forward(self, x):
        return self.lin_out(torch.stack([self._one(sample) for sample in x]))
