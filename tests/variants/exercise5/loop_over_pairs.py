"""Sublayers and norms in two ModuleLists, walked through together."""
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, *, norm_first=False, dropout=0.0):
        super().__init__()
        self.sublayers = nn.ModuleList([attention, feed_forward])
        self.norms = nn.ModuleList([nn.LayerNorm(embed_dim) for _ in self.sublayers])
        self.dropouts = nn.ModuleList([nn.Dropout(dropout) for _ in self.sublayers])
        self.norm_first = norm_first

    def forward(self, x):
        for sublayer, norm, dropout in zip(self.sublayers, self.norms, self.dropouts):
            skip = x
            if self.norm_first:
                x = norm(x)
            x = dropout(sublayer(x)) + skip
            if not self.norm_first:
                x = norm(x)
        return x
