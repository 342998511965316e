"""Raw weights stored (out, in) like nn.Linear does, used through F.linear, biases None by register_parameter."""
import torch
import torch.nn.functional as F
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, *, bias=False):
        super().__init__()
        for name in ("query", "key", "value"):
            weight = torch.empty(head_dim, embed_dim)
            nn.init.xavier_uniform_(weight)
            self.register_parameter(name + "_weight", nn.Parameter(weight))
            offset = nn.Parameter(torch.zeros(head_dim)) if bias else None
            self.register_parameter(name + "_bias", offset)

    def forward(self, x):
        return (
            F.linear(x, self.query_weight, self.query_bias),
            F.linear(x, self.key_weight, self.key_bias),
            F.linear(x, self.value_weight, self.value_bias),
        )


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, *, bias=False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        query, key, value = self.projection(x)
        # the scale is put on the queries, t*d multiplications instead of t*t
        query = query * query.shape[-1] ** -0.5
        return F.softmax(query.bmm(key.mT), dim=-1).bmm(value)
