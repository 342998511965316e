"""Layers are made keys first, as one well-known blog does, and used queries first; the head holds its own three."""
import torch
from torch import nn
import torch.nn.functional as F


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.tokeys = nn.Linear(embed_dim, head_dim, bias=bias)
        self.toqueries = nn.Linear(embed_dim, head_dim, bias=bias)
        self.tovalues = nn.Linear(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        return self.toqueries(x), self.tokeys(x), self.tovalues(x)


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.d = head_dim
        self.tovalues = nn.Linear(embed_dim, head_dim, bias=bias)
        self.tokeys = nn.Linear(embed_dim, head_dim, bias=bias)
        self.toqueries = nn.Linear(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        b, t, _ = x.size()
        keys, queries, values = self.tokeys(x), self.toqueries(x), self.tovalues(x)
        dot = torch.bmm(queries, keys.transpose(1, 2)) / (self.d ** (1 / 2))
        assert dot.size() == (b, t, t)
        return torch.bmm(F.softmax(dot, dim=2), values)
