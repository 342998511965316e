"""A nameless nn.ModuleList of three linears, in the order query, key, value; returns a list."""
import torch
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.projections = nn.ModuleList(nn.Linear(embed_dim, head_dim, bias) for _ in range(3))

    def forward(self, x):
        return [projection(x) for projection in self.projections]


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias)
        self.norm_factor = 1 / (head_dim**0.5)

    def forward(self, x):
        q, k, v = self.projection(x)
        outputs = []
        for i in range(x.size(0)):  # one sample at a time is easier to think about
            attn = torch.softmax(q[i] @ k[i].t() * self.norm_factor, dim=-1)
            outputs.append(attn @ v[i])
        return torch.stack(outputs)
