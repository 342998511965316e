"""A linear layer of one's own that keeps its weight (in, out), as the textbooks print it."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Affine(nn.Module):
    """y = x W + b with W (in, out) and b (out,)"""

    def __init__(self, n_in, n_out):
        super().__init__()
        limit = math.sqrt(6 / (n_in + n_out))
        self.weight = nn.Parameter(torch.empty(n_in, n_out).uniform_(-limit, limit))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return x @ self.weight + self.bias


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        if hidden_dim is None:
            hidden_dim = 4 * embed_dim
        self.first = Affine(embed_dim, hidden_dim)
        self.second = Affine(hidden_dim, embed_dim)
        self.rate = dropout
        if activation == "relu":
            self.nonlinearity = F.relu
        elif activation == "gelu":
            self.nonlinearity = F.gelu
        else:
            raise ValueError(activation)

    def forward(self, x):
        y = self.second(self.nonlinearity(self.first(x)))
        if self.training and self.rate > 0:
            keep = torch.bernoulli(torch.full_like(y, 1 - self.rate))
            y = y * keep / max(1 - self.rate, 1e-12)
        return y
