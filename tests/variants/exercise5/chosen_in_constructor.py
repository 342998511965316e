"""The arrangement is chosen once in the constructor, as a bound method; F.dropout; norm2 is registered first."""
import torch.nn.functional as F
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.norm2 = nn.LayerNorm(embed_dim, eps=1e-5)
        self.norm1 = nn.LayerNorm(embed_dim, eps=1e-5)
        self.feed_forward = feed_forward
        self.attention = attention
        self.dropout_p = dropout
        self._step = self._pre if norm_first else self._post

    def _drop(self, x):
        return F.dropout(x, self.dropout_p, training=self.training)

    def _pre(self, x, norm, sublayer):
        return x + self._drop(sublayer(norm(x)))

    def _post(self, x, norm, sublayer):
        return norm(x + self._drop(sublayer(x)))

    def forward(self, x):
        x = self._step(x, self.norm1, self.attention)
        x = self._step(x, self.norm2, self.feed_forward)
        return x
