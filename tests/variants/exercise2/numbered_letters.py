"""l1, l2 and l3 in the order of use; nothing but the order tells which is which."""
import torch
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.l1 = nn.Linear(embed_dim, head_dim, bias=bias)
        self.l2 = nn.Linear(embed_dim, head_dim, bias=bias)
        self.l3 = nn.Linear(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        return self.l1(x), self.l2(x), self.l3(x)


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.m = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        a, b, c = self.m(x)
        s = a @ b.transpose(1, 2) / a.size(-1) ** 0.5
        return torch.softmax(s, dim=-1) @ c
