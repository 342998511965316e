"""The norms are registered in the other order, and named after what they stand beside."""

import torch
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.size = embed_dim
        self.attn, self.ffn = attention, feed_forward
        self.dropout = nn.Dropout(dropout)
        self.norm_ff = nn.LayerNorm([self.size])
        self.norm_self_attn = nn.LayerNorm([self.size])
        self.is_save_ff_input = False
        self.pre = norm_first

    def forward(self, x):
        z = self.norm_self_attn(x) if self.pre else x
        x = x + self.dropout(self.attn(z))
        if not self.pre:
            x = self.norm_self_attn(x)
        z = self.norm_ff(x) if self.pre else x
        if self.is_save_ff_input:
            self.ff_input = z.clone()
        x = x + self.dropout(self.ffn(z))
        return x if self.pre else self.norm_ff(x)
