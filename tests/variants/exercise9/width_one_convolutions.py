"""Projections as convolutions of width one; a sublayer is a closure."""

from functools import partial

import torch
from exercise8_masks import causal_mask, masked_attention
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, embed_dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(embed_dim) + 1)
        self.bias = nn.Parameter(torch.zeros(embed_dim))
        self.eps = eps

    def forward(self, x):
        x = x.movedim(-1, 0)
        x = (x - x.mean(0)) / (x.var(0, correction=0) + self.eps).sqrt()
        return x.movedim(0, -1) * self.weight + self.bias


class CrossAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads > 0:
            raise ValueError("num_heads")
        self.num_heads = num_heads
        layer = partial(nn.Conv1d, embed_dim, embed_dim, 1)
        self.to_queries = layer(bias=False)
        self.to_keys = layer(bias=False)
        self.to_values = layer(bias=False)
        self.unify_heads = layer()

    def forward(self, x, memory, memory_mask=None):
        b, h = x.size(0), self.num_heads
        y, z = x.transpose(1, 2), memory.transpose(1, 2)
        heads = [
            layer(one).reshape(b * h, -1, one.size(-1)).transpose(1, 2)
            for layer, one in ((self.to_queries, y), (self.to_keys, z), (self.to_values, z))
        ]
        if memory_mask is None:
            memory_mask = z.new_ones(b, z.size(-1)).bool()
        mask = memory_mask.view(b, 1, 1, -1).repeat(1, h, 1, 1).view(b * h, 1, -1)
        got = masked_attention(*heads, mask).transpose(1, 2).reshape(y.shape)
        return self.unify_heads(got).transpose(1, 2)


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, embed_dim, *, dropout=0.0):
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.norm1 = LayerNorm(embed_dim)
        self.norm2 = LayerNorm(embed_dim)
        self.norm3 = LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, memory_mask=None):
        seen = causal_mask(x.size(1), device=x.device)

        def added(norm, sublayer):
            return x + self.dropout(sublayer(norm(x)))

        x = added(self.norm1, lambda y: self.self_attention(y, seen))
        x = added(self.norm2, lambda y: self.cross_attention(y, memory, memory_mask))
        return added(self.norm3, self.feed_forward)
