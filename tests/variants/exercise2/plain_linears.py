"""Three nn.Linear under the asked-for names, the head holds a QKVProjection, torch.bmm."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.to_queries = nn.Linear(embed_dim, head_dim, bias=bias)
        self.to_keys = nn.Linear(embed_dim, head_dim, bias=bias)
        self.to_values = nn.Linear(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        queries = self.to_queries(x)
        keys = self.to_keys(x)
        values = self.to_values(x)
        return queries, keys, values


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.head_dim = head_dim
        self.projection = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        queries, keys, values = self.projection(x)
        dot = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(self.head_dim)
        return torch.bmm(F.softmax(dot, dim=2), values)
