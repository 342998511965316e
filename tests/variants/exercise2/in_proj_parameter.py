"""One raw fused weight (3 * head_dim, embed_dim), named as torch names it, and split sizes."""
import torch
import torch.nn.functional as F
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, *, bias=False):
        super().__init__()
        self.head_dim = head_dim
        self.in_proj_weight = nn.Parameter(torch.empty(3 * head_dim, embed_dim))
        self.in_proj_bias = nn.Parameter(torch.empty(3 * head_dim)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.xavier_uniform_(self.in_proj_weight)
        if self.in_proj_bias is not None:
            nn.init.zeros_(self.in_proj_bias)

    def forward(self, x):
        projected = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        return torch.split(projected, self.head_dim, dim=-1)


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, *, bias=False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        q, k, v = self.projection(x)
        weights = F.log_softmax(q @ k.transpose(1, 2) / self.projection.head_dim**0.5, dim=-1).exp()
        return weights @ v
