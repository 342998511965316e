"""Every layer is made in float32 and the input is cast down to it."""
# loses: property/dtype
import torch
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        options = dict(bias=bias, dtype=torch.float32)
        self.to_queries = nn.Linear(embed_dim, head_dim, **options)
        self.to_keys = nn.Linear(embed_dim, head_dim, **options)
        self.to_values = nn.Linear(embed_dim, head_dim, **options)

    def forward(self, x):
        x = x.float()
        return self.to_queries(x), self.to_keys(x), self.to_values(x)


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        q, k, v = self.projection(x)
        attn = torch.softmax(q @ k.transpose(1, 2) / q.size(-1) ** 0.5, dim=-1)
        return attn @ v
