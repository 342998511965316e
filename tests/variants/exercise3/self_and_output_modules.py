"""Attention and its output layer are modules of their own: self.query and output.dense, as in BERT."""
import math

import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.shape
    return x.reshape(b, t, num_heads, width // num_heads).transpose(1, 2).reshape(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    return x.reshape(rows // num_heads, num_heads, t, d).transpose(1, 2).reshape(rows // num_heads, t, -1)


class BertSelfAttention(nn.Module):
    def __init__(self, hidden, heads, size, bias):
        super().__init__()
        self.heads, self.size = heads, size
        self.query = nn.Linear(hidden, heads * size, bias=bias)
        self.key = nn.Linear(hidden, heads * size, bias=bias)
        self.value = nn.Linear(hidden, heads * size, bias=bias)

    def forward(self, x):
        mixed_key, mixed_query, mixed_value = self.key(x), self.query(x), self.value(x)
        k, q, v = (fold_heads(y, self.heads) for y in (mixed_key, mixed_query, mixed_value))
        probs = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / math.sqrt(self.size), dim=-1)
        return unfold_heads(torch.bmm(probs, v), self.heads)


class BertSelfOutput(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.dense = nn.Linear(width, hidden)

    def forward(self, x):
        return self.dense(x)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("embed_dim must be divisible by num_heads")
            head_dim = embed_dim // num_heads
        self.self = BertSelfAttention(embed_dim, num_heads, head_dim, bias)
        self.output = BertSelfOutput(num_heads * head_dim, embed_dim)

    def forward(self, x):
        return self.output(self.self(x))
