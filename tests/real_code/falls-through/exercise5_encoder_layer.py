import torch.nn as nn


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, *, norm_first=False, dropout=0.0):
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            y = x + self.dropout(self.attention(self.norm1(x)))
            y = y + self.dropout(self.feed_forward(self.norm2(y)))
        y = self.norm1(x + self.dropout(self.attention(x)))
        return self.norm2(y + self.dropout(self.feed_forward(y)))
