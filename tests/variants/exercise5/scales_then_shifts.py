"""Both scales are registered before both shifts, without a word of what they norm."""

import torch
from torch import nn
class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.gains = nn.ParameterList([torch.ones(embed_dim), torch.ones(embed_dim)])
        self.biases = nn.ParameterList([torch.zeros(embed_dim), torch.zeros(embed_dim)])
        self.pre, self.drop = norm_first, nn.Dropout(dropout)
    def norm(self, x, i): return nn.functional.layer_norm(x, x.shape[-1:], self.gains[i], self.biases[i])
    def forward(self, x):
        for i, f in enumerate((self.attention, self.feed_forward)):
            x = x + self.drop(f(self.norm(x, i))) if self.pre else self.norm(x + self.drop(f(x)), i)
        return x
