"""n and m are the norms, in the order of use, p and q the sublayers."""
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.p, self.q = attention, feed_forward
        self.n, self.m = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
        self.z = nn.Dropout(dropout)
        self.first = norm_first

    def forward(self, x):
        if self.first:
            y = x + self.z(self.p(self.n(x)))
            return y + self.z(self.q(self.m(y)))
        y = self.n(x + self.z(self.p(x)))
        return self.m(y + self.z(self.q(y)))
