"""Both arrangements, one method each."""

from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm1, self.norm2 = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
        self.drop1, self.drop2 = nn.Dropout(dropout), nn.Dropout(dropout)
        self.norm_first = norm_first

    def _before(self, x):
        x = x + self.drop1(self.attention(self.norm1(x)))
        return x + self.drop2(self.feed_forward(self.norm2(x)))

    def _after(self, x):
        x = self.norm1(x + self.drop1(self.attention(x)))
        return self.norm2(x + self.drop2(self.feed_forward(x)))

    def forward(self, x):
        return self._before(x) if self.norm_first else self._after(x)
