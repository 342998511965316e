"""A wrapper with norm, dropout and skip for each sublayer; torch's own norms in the layer."""

import torch
from exercise3_multi_head import fold_heads, unfold_heads
from exercise8_masks import causal_mask, masked_attention
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, embed_dim, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(embed_dim))
        self.beta = nn.Parameter(torch.zeros(embed_dim))
        self.eps = eps

    def forward(self, x):
        var, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return torch.addcmul(self.beta, self.gamma, (x - mean) * torch.rsqrt(var + self.eps))


class CrossAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("heads")
        self.heads = num_heads
        self.query = nn.Linear(embed_dim, embed_dim, bias=False)
        self.key_value = nn.Linear(embed_dim, 2 * embed_dim, bias=False)
        self.out = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, memory, memory_mask=None):
        keys, values = self.key_value(memory).chunk(2, dim=-1)
        q, k, v = (fold_heads(part, self.heads) for part in (self.query(x), keys, values))
        if memory_mask is None:
            memory_mask = memory.new_ones(memory.shape[:2]).bool()
        seen = memory_mask[:, None, None, :].expand(-1, self.heads, -1, -1).flatten(0, 1)
        return self.out(unfold_heads(masked_attention(q, k, v, seen), self.heads))


class Residual(nn.Module):
    def __init__(self, inner, width, rate):
        super().__init__()
        self.inner = inner
        self.norm = nn.LayerNorm(width)
        self.drop = nn.Dropout(rate)

    def forward(self, x, *beside):
        return x + self.drop(self.inner(self.norm(x), *beside))


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, embed_dim, *, dropout=0.0):
        super().__init__()
        self.first = Residual(self_attention, embed_dim, dropout)
        self.second = Residual(cross_attention, embed_dim, dropout)
        self.third = Residual(feed_forward, embed_dim, dropout)

    def forward(self, x, memory, memory_mask=None):
        x = self.first(x, causal_mask(x.size(1), device=x.device))
        return self.third(self.second(x, memory, memory_mask))
