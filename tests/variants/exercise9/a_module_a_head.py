"""One small module a head, whose results stand side by side."""

import torch
from exercise8_masks import masked_attention
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, embed_dim, eps=1e-5):
        super().__init__()
        self.g = nn.Parameter(torch.ones(embed_dim))
        self.b = nn.Parameter(torch.zeros(embed_dim))
        self.eps = eps

    def forward(self, x):
        m = x.mean(-1, True)
        s = ((x**2).mean(-1, True) - m**2 + self.eps) ** 0.5
        return self.b + self.g * ((x - m) / s)


class Head(nn.Module):
    def __init__(self, width, size):
        super().__init__()
        self.query = nn.Linear(width, size, bias=False)
        self.key = nn.Linear(width, size, bias=False)
        self.value = nn.Linear(width, size, bias=False)

    def forward(self, x, memory, mask):
        return masked_attention(self.query(x), self.key(memory), self.value(memory), mask)


class CrossAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        size, rest = divmod(embed_dim, num_heads)
        if rest:
            raise ValueError("no whole width for a head")
        self.heads = nn.ModuleList([Head(embed_dim, size) for _ in range(num_heads)])
        self.proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, memory, memory_mask=None):
        if memory_mask is None:
            mask = torch.ones(1, 1, memory.size(1), dtype=torch.bool, device=x.device)
        else:
            mask = memory_mask[:, None]
        return self.proj(torch.cat([head(x, memory, mask) for head in self.heads], dim=-1))


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, embed_dim, dropout=0.0):
        super().__init__()
        self.sa, self.ca, self.ff = self_attention, cross_attention, feed_forward
        self.ln1 = nn.LayerNorm(embed_dim)
        self.ln2 = nn.LayerNorm(embed_dim)
        self.ln3 = nn.LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, memory_mask=None):
        b, t, _ = x.shape
        tril = torch.tril(torch.ones((t, t), dtype=torch.bool, device=x.device))
        x = x + self.dropout(self.sa(self.ln1(x), tril.expand(b, t, t)))
        x = x + self.dropout(self.ca(self.ln2(x), memory, memory_mask))
        x = x + self.dropout(self.ff(self.ln3(x)))
        return x
