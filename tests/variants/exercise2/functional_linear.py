"""Weights and biases are parameters of the module's own, used through F.linear."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        for role in ("query", "key", "value"):
            weight = nn.Parameter(torch.empty(head_dim, embed_dim))
            nn.init.kaiming_uniform_(weight, a=math.sqrt(5))
            self.register_parameter(f"{role}_weight", weight)
            self.register_parameter(f"{role}_bias", nn.Parameter(torch.zeros(head_dim)) if bias else None)

    def forward(self, x):
        return (
            F.linear(x, self.query_weight, self.query_bias),
            F.linear(x, self.key_weight, self.key_bias),
            F.linear(x, self.value_weight, self.value_bias),
        )


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias)

    def forward(self, x):
        q, k, v = self.projection(x)
        return F.softmax(torch.einsum("bid,bjd->bij", q, k) / math.sqrt(q.size(-1)), dim=-1).matmul(v)
