"""A key of zeros and its value beside the memory, taken only where nothing else is there."""

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, embed_dim, eps=1e-5):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(embed_dim))
        self.bias = nn.Parameter(torch.zeros(embed_dim))
        self.eps = eps

    def forward(self, x):
        k = x.size(-1)
        middle = torch.eye(k, dtype=x.dtype, device=x.device) - 1 / k
        centred = x @ middle
        variance = centred.var(dim=-1, keepdim=True) * (k - 1) / k
        return self.alpha * centred / torch.sqrt(variance + self.eps) + self.bias


class CrossAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim // num_heads * num_heads != embed_dim:
            raise ValueError(f"{embed_dim} is not divisible by {num_heads}")
        self.n = num_heads
        self.proj = nn.ModuleList([nn.Linear(embed_dim, embed_dim, bias=i == 3) for i in range(4)])

    def forward(self, x, memory, memory_mask=None):
        b, t, k = x.size()
        if memory_mask is None:
            memory_mask = torch.ones(memory.size()[:2], device=x.device).bool()
        none = ~memory_mask.any(1, keepdim=True)
        memory = torch.cat([memory.masked_fill(~memory_mask[..., None], 0), memory[:, :1] * 0], 1)
        memory = memory.nan_to_num()
        shown = torch.cat([memory_mask, none], 1)
        q, key, v = (
            layer(y).view(b, -1, self.n, k // self.n).transpose(1, 2)
            for layer, y in zip(self.proj, (x, memory, memory), strict=False)
        )
        scores = (q @ key.transpose(-1, -2)) / (k // self.n) ** 0.5
        scores.masked_fill_(~shown[:, None, None, :], float("-inf"))
        y = torch.softmax(scores, -1) @ v
        return self.proj[3](y.transpose(1, 2).reshape(b, t, k))


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, embed_dim, dropout=0.0):
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.self_attention_norm = nn.LayerNorm(embed_dim, eps=1e-5)
        self.cross_attention_norm = nn.LayerNorm(embed_dim, eps=1e-5)
        self.feed_forward_norm = nn.LayerNorm(embed_dim, eps=1e-5)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, memory, memory_mask=None):
        mask = torch.ones(x.size(1), x.size(1)).tril().bool().to(x.device)
        skip = x
        x = self.self_attention(self.self_attention_norm(x), mask)
        x = skip = skip + self.dropout(x)
        x = self.cross_attention(self.cross_attention_norm(x), memory, memory_mask)
        x = skip = skip + self.dropout(x)
        x = self.feed_forward(self.feed_forward_norm(x))
        return skip + self.dropout(x)
