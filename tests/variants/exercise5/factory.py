"""The name stands for a function, which chooses one of two classes."""

from torch import nn


class _Layer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, dropout):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.steps = nn.ModuleList([attention, feed_forward])
        self.norms = nn.ModuleList(nn.LayerNorm(embed_dim) for _ in self.steps)


class _Post(_Layer):
    def forward(self, x):
        for step, norm in zip(self.steps, self.norms, strict=True):
            x = norm(x + self.drop(step(x)))
        return x


class _Pre(_Layer):
    def forward(self, x):
        for step, norm in zip(self.steps, self.norms, strict=True):
            x = x + self.drop(step(norm(x)))
        return x


def EncoderLayer(attention, feed_forward, embed_dim, *, norm_first=False, dropout=0.0):
    return (_Pre if norm_first else _Post)(attention, feed_forward, embed_dim, dropout)
