"""Parameters without layers, (in, out); norms as raw vectors in the layer itself."""

import torch
from torch import nn


def standardize(x, eps):
    x = x - x.mean(-1, keepdim=True)
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / torch.hypot(length / x.shape[-1] ** 0.5, torch.full_like(length, eps**0.5))


class LayerNorm(nn.Module):
    def __init__(self, embed_dim, eps=1e-5):
        super().__init__()
        self.register_parameter("weight", nn.Parameter(torch.ones(embed_dim)))
        self.register_parameter("bias", nn.Parameter(torch.zeros(embed_dim)))
        self.eps = eps

    def forward(self, x):
        return torch.addcmul(self.bias, standardize(x, self.eps), self.weight)


class CrossAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim={embed_dim}, num_heads={num_heads}")
        self.num_heads = num_heads
        bound = embed_dim**-0.5
        self.W_q = nn.Parameter(torch.empty(embed_dim, embed_dim).uniform_(-bound, bound))
        self.W_k = nn.Parameter(torch.empty(embed_dim, embed_dim).uniform_(-bound, bound))
        self.W_v = nn.Parameter(torch.empty(embed_dim, embed_dim).uniform_(-bound, bound))
        self.unify_heads = nn.Linear(embed_dim, embed_dim)

    def split(self, y):
        b, n, k = y.shape
        return y.reshape(b, n, self.num_heads, k // self.num_heads).permute(0, 2, 1, 3)

    def forward(self, x, memory, memory_mask=None):
        q = self.split(x @ self.W_q)
        k = self.split(memory @ self.W_k)
        v = self.split(memory @ self.W_v)
        scores = q @ k.mT * q.shape[-1] ** -0.5
        if memory_mask is not None:
            hidden = memory_mask.logical_not()[:, None, None]
            scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
            weights = scores.softmax(-1).masked_fill(hidden, 0)
        else:
            weights = scores.softmax(-1)
        return self.unify_heads((weights @ v).permute(0, 2, 1, 3).reshape(x.shape))


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, embed_dim, *, dropout=0.0):
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.weights = nn.ParameterList([torch.ones(embed_dim) for _ in range(3)])
        self.biases = nn.ParameterList([torch.zeros(embed_dim) for _ in range(3)])
        self.dropout = nn.Dropout(dropout)

    def norm(self, i, x):
        return standardize(x, 1e-5) * self.weights[i] + self.biases[i]

    def forward(self, x, memory, memory_mask=None):
        t = x.shape[1]
        ahead = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        x = x + self.dropout(self.self_attention(self.norm(0, x), ~ahead))
        x = x + self.dropout(self.cross_attention(self.norm(1, x), memory, memory_mask))
        return x + self.dropout(self.feed_forward(self.norm(2, x)))
