"""a, b and c are keys, queries and values, made in that order: no name tells it."""
import torch
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.a = nn.Linear(embed_dim, head_dim, bias=bias)
        self.b = nn.Linear(embed_dim, head_dim, bias=bias)
        self.c = nn.Linear(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        return self.b(x), self.a(x), self.c(x)


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.lin_a = nn.Linear(embed_dim, head_dim, bias=bias)
        self.lin_b = nn.Linear(embed_dim, head_dim, bias=bias)
        self.lin_c = nn.Linear(embed_dim, head_dim, bias=bias)
        self.d = head_dim

    def forward(self, x):
        a, b, c = self.lin_a(x), self.lin_b(x), self.lin_c(x)
        dots = torch.bmm(b, a.transpose(1, 2)) / self.d**0.5
        return torch.bmm(torch.softmax(dots, dim=2), c)
