"""Parameters a, b, c and d in place of layers, through einsum; dropout by a mask of one's own."""
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        if activation not in {"relu", "gelu"}:
            raise ValueError(activation)
        n = embed_dim * 4 if hidden_dim is None else hidden_dim
        self.a = nn.Parameter(torch.randn(embed_dim, n) * embed_dim**-0.5)
        self.b = nn.Parameter(torch.zeros(n))
        self.c = nn.Parameter(torch.randn(n, embed_dim) * n**-0.5)
        self.d = nn.Parameter(torch.zeros(embed_dim))
        self.keep, self.kind = 1 - dropout, activation

    def forward(self, x):
        y = torch.einsum("btk,kn->btn", x, self.a) + self.b
        y = torch.relu(y) if self.kind == "relu" else nn.functional.gelu(y)
        y = torch.einsum("btn,nk->btk", y, self.c) + self.d
        if self.training and self.keep < 1:
            y = y * (torch.rand_like(y) < self.keep) / self.keep
        return y
