"""The annotated-transformer shape: a connection that takes the sublayer as a callable at each call."""
import torch
import torch.nn as nn


class SublayerConnection(nn.Module):
    def __init__(self, size, dropout, norm_first):
        super(SublayerConnection, self).__init__()
        self.norm = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x, sublayer):
        if self.norm_first:
            return torch.add(x, self.dropout(sublayer(self.norm(x))))
        return self.norm(torch.add(x, self.dropout(sublayer(x))))


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super(EncoderLayer, self).__init__()
        self.self_attn = attention
        self.feed_forward = feed_forward
        self.sublayer = nn.ModuleList([SublayerConnection(embed_dim, dropout, norm_first) for _ in range(2)])

    def forward(self, x):
        x = self.sublayer[0](x, lambda y: self.self_attn(y))
        return self.sublayer[1](x, self.feed_forward)
