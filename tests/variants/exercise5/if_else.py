"""nn.LayerNorm, nn.Dropout, and an if in forward."""
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.norm_first = norm_first
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        if self.norm_first:
            x = x + self.drop(self.attention(self.norm1(x)))
            x = x + self.drop(self.feed_forward(self.norm2(x)))
        else:
            x = self.norm1(x + self.drop(self.attention(x)))
            x = self.norm2(x + self.drop(self.feed_forward(x)))
        return x
