"""Weights kept as (1, in, out) so that they broadcast over the batch, biases as (1, 1, out)."""
import torch
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        bound = embed_dim**-0.5
        self.wq = nn.Parameter(torch.empty(1, embed_dim, head_dim).uniform_(-bound, bound))
        self.wk = nn.Parameter(torch.empty(1, embed_dim, head_dim).uniform_(-bound, bound))
        self.wv = nn.Parameter(torch.empty(1, embed_dim, head_dim).uniform_(-bound, bound))
        if bias:
            self.bq = nn.Parameter(torch.zeros(1, 1, head_dim))
            self.bk = nn.Parameter(torch.zeros(1, 1, head_dim))
            self.bv = nn.Parameter(torch.zeros(1, 1, head_dim))
        else:
            self.bq = self.bk = self.bv = None

    @staticmethod
    def _apply_map(x, w, b):
        y = torch.bmm(x, w.expand(x.size(0), -1, -1))
        return y if b is None else y + b

    def forward(self, x):
        q = self._apply_map(x, self.wq, self.bq)
        k = self._apply_map(x, self.wk, self.bk)
        v = self._apply_map(x, self.wv, self.bv)
        return q, k, v


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        q, k, v = self.projection(x)
        root = q.size(-1) ** 0.25
        attn = torch.bmm(q / root, (k / root).permute(0, 2, 1))
        return torch.bmm(torch.softmax(attn, 2), v)
