"""Two lists, a layer a head in each: one makes all three parts, one brings the result back."""
import math

import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t, _ = x.shape
    out = x.new_empty(b * num_heads, t, x.shape[2] // num_heads)
    return torch.cat([s for sample in x for s in sample.reshape(t, num_heads, -1).transpose(0, 1).split(1)]).reshape(out.shape)


def unfold_heads(x, num_heads):
    rows = [x[n::num_heads] for n in range(num_heads)]
    return torch.cat(rows, dim=-1)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads != 0:
            raise ValueError(f"{embed_dim} is not a multiple of {num_heads}")
        self.width = head_dim or embed_dim // num_heads
        self.ins = nn.ModuleList()
        self.outs = nn.ModuleList()
        for i in range(num_heads):
            self.ins.append(nn.Linear(embed_dim, self.width * 3, bias=bias))
            self.outs.append(nn.Linear(self.width, embed_dim, bias=i == 0))

    def forward(self, x):
        y = 0
        for first, last in zip(self.ins, self.outs):
            q, k, v = torch.split(first(x), self.width, dim=-1)
            scores = torch.einsum("bqd,bkd->bqk", q, k) / math.sqrt(self.width)
            y = y + last(torch.softmax(scores, dim=-1) @ v)
        return y
