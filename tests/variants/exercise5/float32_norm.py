"""Large-model habit: the norm upcasts, or here downcasts, to float32 and casts back."""
# loses: property/dtype
import torch
from torch import nn


class Float32LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        x32 = x.to(torch.float32)
        mean = x32.mean(-1, keepdim=True)
        var = (x32 - mean).square().mean(-1, keepdim=True)
        normed = (x32 - mean) * torch.rsqrt(var + self.eps)
        return normed.to(x.dtype) * self.weight + self.bias


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.norm1 = Float32LayerNorm(embed_dim)
        self.norm2 = Float32LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            x = x + self.dropout(self.attention(self.norm1(x)))
            return x + self.dropout(self.feed_forward(self.norm2(x)))
        x = self.norm1(x + self.dropout(self.attention(x)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))
