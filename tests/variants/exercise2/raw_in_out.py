"""Raw nn.Parameter matrices stored (in, out) and multiplied from the right, as on paper: x W."""
import math

import torch
from torch import nn


def new_matrix(n_in, n_out):
    return nn.Parameter(torch.randn(n_in, n_out) / math.sqrt(n_in))


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.W_q = new_matrix(embed_dim, head_dim)
        self.W_k = new_matrix(embed_dim, head_dim)
        self.W_v = new_matrix(embed_dim, head_dim)
        self.has_bias = bias
        if bias:
            self.b_q = nn.Parameter(torch.zeros(head_dim))
            self.b_k = nn.Parameter(torch.zeros(head_dim))
            self.b_v = nn.Parameter(torch.zeros(head_dim))

    def forward(self, x):
        q, k, v = x @ self.W_q, x @ self.W_k, x @ self.W_v
        if self.has_bias:
            q, k, v = q + self.b_q, k + self.b_k, v + self.b_v
        return [q, k, v]


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias)

    def forward(self, x):
        q, k, v = self.projection(x)
        scores = torch.einsum("bid,bjd->bij", q, k) / math.sqrt(q.shape[-1])
        return torch.einsum("bij,bjd->bid", torch.softmax(scores, -1), v)
