"""Norms in a ModuleList, sublayers in a plain tuple beside their registration."""
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.sublayers = nn.ModuleList([attention, feed_forward])
        self.norms = nn.ModuleList([nn.LayerNorm(embed_dim) for _ in range(2)])
        self.drops = nn.ModuleList([nn.Dropout(dropout) for _ in range(2)])
        self.pre = norm_first

    def forward(self, x):
        for sublayer, norm, drop in zip(self.sublayers, self.norms, self.drops):
            residual = x
            y = sublayer(norm(x) if self.pre else x)
            x = residual + drop(y)
            if not self.pre:
                x = norm(x)
        return x
