"""Heads on an axis of their own, layers by the letters of the papers, as tutorials have them."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.a_2 * (x - mean) / torch.sqrt(var + self.eps) + self.b_2


def attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
        empty = (mask == 0).all(dim=-1, keepdim=True)
        scores = scores.masked_fill(empty, 0)
        return torch.matmul(F.softmax(scores, dim=-1).masked_fill(mask == 0, 0), value)
    return torch.matmul(F.softmax(scores, dim=-1), value)


class CrossAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.d_k = embed_dim // num_heads
        self.h = num_heads
        self.w_q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.w_k = nn.Linear(embed_dim, embed_dim, bias=False)
        self.w_v = nn.Linear(embed_dim, embed_dim, bias=False)
        self.w_o = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, memory, memory_mask=None):
        n = x.size(0)
        query, key, value = (
            lin(y).view(n, -1, self.h, self.d_k).transpose(1, 2)
            for lin, y in ((self.w_q, x), (self.w_k, memory), (self.w_v, memory))
        )
        if memory_mask is not None:
            memory_mask = memory_mask.unsqueeze(1).unsqueeze(2)
        out = attention(query, key, value, memory_mask)
        return self.w_o(out.transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k))


class DecoderLayer(nn.Module):
    def __init__(self, self_attn, src_attn, feed_forward, size, dropout=0.0):
        super().__init__()
        self.self_attn = self_attn
        self.src_attn = src_attn
        self.feed_forward = feed_forward
        self.norm1 = LayerNorm(size)
        self.norm2 = LayerNorm(size)
        self.norm3 = LayerNorm(size)
        self.drop1 = nn.Dropout(dropout)
        self.drop2 = nn.Dropout(dropout)
        self.drop3 = nn.Dropout(dropout)

    def forward(self, x, memory, src_mask=None):
        t = x.shape[1]
        tgt_mask = torch.tril(torch.ones(t, t, device=x.device)).bool()
        x2 = self.norm1(x)
        x = x + self.drop1(self.self_attn(x2, tgt_mask))
        x2 = self.norm2(x)
        x = x + self.drop2(self.src_attn(x2, memory, src_mask))
        x2 = self.norm3(x)
        return x + self.drop3(self.feed_forward(x2))
