"""The blog's way: keys registered first, heads folded into the batch, both sides over the fourth root, torch.bmm."""
import torch
import torch.nn.functional as F
from torch import nn


def fold_heads(x, num_heads):
    b, t, hd = x.size()
    d = hd // num_heads
    return x.reshape(b, t, num_heads, d).transpose(1, 2).contiguous().view(b * num_heads, t, d)


def unfold_heads(x, num_heads):
    bh, t, d = x.size()
    b = bh // num_heads
    return x.reshape(b, num_heads, t, d).transpose(1, 2).contiguous().view(b, t, num_heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("embed_dim must be divisible by num_heads")
            head_dim = embed_dim // num_heads
        self.heads, self.head_dim = num_heads, head_dim
        self.tokeys = nn.Linear(embed_dim, head_dim * num_heads, bias=bias)
        self.toqueries = nn.Linear(embed_dim, head_dim * num_heads, bias=bias)
        self.tovalues = nn.Linear(embed_dim, head_dim * num_heads, bias=bias)
        self.unifyheads = nn.Linear(num_heads * head_dim, embed_dim)

    def forward(self, x):
        h = self.heads
        queries = fold_heads(self.toqueries(x), h)
        keys = fold_heads(self.tokeys(x), h)
        values = fold_heads(self.tovalues(x), h)

        queries = queries / (self.head_dim ** (1 / 4))
        keys = keys / (self.head_dim ** (1 / 4))

        dot = torch.bmm(queries, keys.transpose(1, 2))
        dot = F.softmax(dot, dim=2)
        out = unfold_heads(torch.bmm(dot, values), h)
        return self.unifyheads(out)
