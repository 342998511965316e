"""Scales and shifts are the layer's own parameters, used through F.layer_norm."""
import torch
import torch.nn.functional as F
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, *, norm_first=False, dropout=0.0):
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.norm1_weight = nn.Parameter(torch.ones(embed_dim))
        self.norm1_bias = nn.Parameter(torch.zeros(embed_dim))
        self.norm2_weight = nn.Parameter(torch.ones(embed_dim))
        self.norm2_bias = nn.Parameter(torch.zeros(embed_dim))
        self.norm_first, self.p, self.k = norm_first, dropout, embed_dim

    def _norm(self, x, number):
        weight, bias = getattr(self, f"norm{number}_weight"), getattr(self, f"norm{number}_bias")
        return F.layer_norm(x, (self.k,), weight, bias, eps=1e-5)

    def _drop(self, x):
        return F.dropout(x, self.p, self.training)

    def forward(self, x):
        for number, sublayer in enumerate((self.attention, self.feed_forward), start=1):
            if self.norm_first:
                x = x + self._drop(sublayer(self._norm(x, number)))
            else:
                x = self._norm(x + self._drop(sublayer(x)), number)
        return x
