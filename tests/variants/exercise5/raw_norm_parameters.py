"""No norm modules at all: raw scale and shift parameters handed to F.layer_norm."""
import torch
import torch.nn.functional as F
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.gamma1 = nn.Parameter(torch.ones(embed_dim))
        self.beta1 = nn.Parameter(torch.zeros(embed_dim))
        self.gamma2 = nn.Parameter(torch.ones(embed_dim))
        self.beta2 = nn.Parameter(torch.zeros(embed_dim))
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        def norm1(y):
            return F.layer_norm(y, y.shape[-1:], self.gamma1, self.beta1)

        def norm2(y):
            return F.layer_norm(y, y.shape[-1:], self.gamma2, self.beta2)

        if self.norm_first:
            x = x + self.dropout(self.attention(norm1(x)))
            return x + self.dropout(self.feed_forward(norm2(x)))
        x = norm1(x + self.dropout(self.attention(x)))
        return norm2(x + self.dropout(self.feed_forward(x)))
