"""AttentionHead is a QKVProjection by inheritance and so owns the three linears itself."""
import math

import torch
from torch import nn


class SoftmaxMixin:
    @staticmethod
    def softmax(scores):
        shifted = scores - scores.amax(dim=-1, keepdim=True)
        numerator = shifted.exp()
        return numerator / numerator.sum(-1, keepdim=True)


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super(QKVProjection, self).__init__()
        self.embed_dim, self.head_dim = embed_dim, head_dim
        self.query_proj = nn.Linear(embed_dim, head_dim, bias=bias)
        self.key_proj = nn.Linear(embed_dim, head_dim, bias=bias)
        self.value_proj = nn.Linear(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        return (self.query_proj(x), self.key_proj(x), self.value_proj(x))


class AttentionHead(SoftmaxMixin, QKVProjection):
    @property
    def scale(self):
        return 1 / math.sqrt(self.head_dim)

    def forward(self, x):
        q, k, v = super().forward(x)
        return torch.matmul(self.softmax(torch.matmul(q, k.transpose(-2, -1)) * self.scale), v)
