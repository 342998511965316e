"""Norm first named for what it precedes; one call makes queries, another keys and values."""

import math
from typing import Optional

import torch
import torch.nn as nn


class LayerNorm(nn.Module):
    """Layer normalisation over the last axis."""

    def __init__(self, embed_dim: int, eps: float = 1e-5):
        super(LayerNorm, self).__init__()
        self.weight = nn.Parameter(torch.ones(embed_dim))
        self.bias = nn.Parameter(torch.zeros(embed_dim))
        self.eps = eps

    def _moments(self, x: torch.Tensor):
        first = x.mean(-1)
        second = torch.mean((x - first[..., None]) ** 2, dim=-1)
        return first[..., None], second[..., None]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mu, sigma2 = self._moments(x)
        y = torch.div(torch.sub(x, mu), torch.sqrt(torch.add(sigma2, self.eps)))
        return torch.add(torch.mul(y, self.weight), self.bias)


class CrossAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int):
        super(CrossAttention, self).__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim %d not divisible by %d" % (embed_dim, num_heads))
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.kv_proj = nn.Linear(embed_dim, embed_dim * 2, bias=False)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=True)

    def forward(
        self,
        x: torch.Tensor,
        memory: torch.Tensor,
        memory_mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        B, T, C = x.shape
        S = memory.shape[1]
        q = self.q_proj(x).reshape(B, T, self.num_heads, self.head_dim).permute(0, 2, 1, 3)
        kv = self.kv_proj(memory).reshape(B, S, 2, self.num_heads, self.head_dim)
        k, v = kv.permute(2, 0, 3, 1, 4)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(self.head_dim))
        if memory_mask is not None:
            att = att.masked_fill(memory_mask[:, None, None, :] == False, float("-inf"))  # noqa: E712
            att = att.masked_fill(~memory_mask.any(-1)[:, None, None, None], 0.0)
        att = att.softmax(dim=-1)
        if memory_mask is not None:
            att = att * memory_mask.any(-1)[:, None, None, None]
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.out_proj(y)


class DecoderLayer(nn.Module):
    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        feed_forward: nn.Module,
        embed_dim: int,
        dropout: float = 0.0,
    ):
        super(DecoderLayer, self).__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.pre_self_attention_norm = LayerNorm(embed_dim)
        self.pre_cross_attention_norm = LayerNorm(embed_dim)
        self.pre_feed_forward_norm = LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout) if dropout > 0 else nn.Identity()

    def forward(
        self,
        x: torch.Tensor,
        memory: torch.Tensor,
        memory_mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        length = x.shape[1]
        mask = torch.full((1, length, length), True, dtype=torch.bool, device=x.device).tril()
        h = self.self_attention(self.pre_self_attention_norm(x), mask)
        x = x + self.dropout(h)
        h = self.cross_attention(self.pre_cross_attention_norm(x), memory, memory_mask)
        x = x + self.dropout(h)
        h = self.feed_forward(self.pre_feed_forward_norm(x))
        return x + self.dropout(h)
