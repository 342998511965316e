"""Sample by sample, with the real places of the memory alone."""

import math

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, embed_dim, *, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones((embed_dim,)))
        self.bias = nn.Parameter(torch.zeros((embed_dim,)))
        self.eps = eps

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        rows = rows - rows.mean(1)[:, None]
        rows = rows / torch.sqrt((rows * rows).mean(1) + self.eps)[:, None]
        return (rows * self.weight + self.bias).reshape(x.shape)


class CrossAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim is no multiple of num_heads")
        self.num_heads = num_heads
        self.d = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim)

    def one(self, x, memory):
        if memory.shape[0] == 0:
            return torch.zeros_like(x)
        q, k, v = self.to_queries(x), self.to_keys(memory), self.to_values(memory)
        parts = []
        for i in range(self.num_heads):
            own = slice(i * self.d, (i + 1) * self.d)
            scores = q[:, own] @ k[:, own].T / math.sqrt(self.d)
            parts.append(scores.softmax(1) @ v[:, own])
        return torch.cat(parts, 1)

    def forward(self, x, memory, memory_mask=None):
        gathered = []
        for i in range(len(x)):
            own = memory[i] if memory_mask is None else memory[i][memory_mask[i]]
            gathered.append(self.one(x[i], own))
        return self.unify_heads(torch.stack(gathered))


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, embed_dim, *, dropout=0.0):
        super().__init__()
        self.steps = nn.ModuleList([self_attention, cross_attention, feed_forward])
        self.norms = nn.ModuleList([LayerNorm(embed_dim) for _ in range(3)])
        self.drops = nn.ModuleList([nn.Dropout(dropout) for _ in range(3)])

    def forward(self, x, memory, memory_mask=None):
        mask = x.new_ones(x.shape[1], x.shape[1]).tril() > 0
        beside = [(mask,), (memory, memory_mask), ()]
        for step, norm, drop, more in zip(self.steps, self.norms, self.drops, beside, strict=True):
            x = x + drop(step(norm(x), *more))
        return x
