"""The norms' numbers as rows of two parameters; one function for both places."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, *, norm_first=False, dropout=0.0):
        super().__init__()
        self.sublayers = nn.ModuleList([attention, feed_forward])
        self.gamma = nn.Parameter(torch.ones(2, embed_dim))
        self.beta = nn.Parameter(torch.zeros(2, embed_dim))
        self.norm_first = norm_first
        self.p = dropout

    def norm(self, place: int, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        variance = (centred * centred).mean(-1, keepdim=True)
        return centred / torch.sqrt(variance + 1e-5) * self.gamma[place] + self.beta[place]

    def forward(self, x):
        for place, sublayer in enumerate(self.sublayers):
            y = sublayer(self.norm(place, x) if self.norm_first else x)
            x = x + functional.dropout(y, self.p, training=self.training)
            x = x if self.norm_first else self.norm(place, x)
        return x
