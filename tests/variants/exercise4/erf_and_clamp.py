"""Both activations from their formulas: erf and clamp."""
import math

import torch
from torch import nn


def relu(z):
    return z.clamp(min=0)


def gelu(z):
    return 0.5 * z * (1 + torch.erf(z / math.sqrt(2)))


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        try:
            self.f = {"relu": relu, "gelu": gelu}[activation]
        except KeyError:
            raise ValueError(f"activation {activation} is not known") from None
        width = 4 * embed_dim if hidden_dim is None else hidden_dim
        self.up = nn.Linear(embed_dim, width)
        self.down = nn.Linear(width, embed_dim)
        self.p = dropout

    def forward(self, x):
        y = self.down(self.f(self.up(x)))
        return nn.functional.dropout(y, self.p, training=self.training)
