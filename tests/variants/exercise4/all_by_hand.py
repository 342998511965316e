"""Own ReLU, own GELU by torch.erf, own dropout by a random mask and rescaling."""
import math

import torch
import torch.nn as nn


def relu(x):
    return x.clamp(min=0)


def gelu(x):
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


class MyDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0:
            return x
        if self.p >= 1:
            return x * 0
        keep = (torch.rand_like(x) >= self.p).to(x.dtype)
        return x * keep / (1 - self.p)


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        functions = {"relu": relu, "gelu": gelu}
        if activation not in functions:
            raise ValueError("I only know " + " and ".join(functions) + ", not " + str(activation))
        self.act = functions[activation]
        if hidden_dim is None:
            hidden_dim = embed_dim * 4
        self.dense1 = nn.Linear(embed_dim, hidden_dim)
        self.dense2 = nn.Linear(hidden_dim, embed_dim)
        self.dropout = MyDropout(dropout)

    def forward(self, x):
        return self.dropout(self.dense2(self.act(self.dense1(x))))
