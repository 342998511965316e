"""Letters everywhere, the softmax by hand, weights (heads, in, out)."""

import math
from string import ascii_lowercase

import torch
from torch import Tensor, einsum, nn


class LayerNorm(nn.Module):
    def __init__(self, embed_dim: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((embed_dim,), 1.0))
        self.shift = nn.Parameter(torch.full((embed_dim,), 0.0))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        c = x - x.sum(-1, keepdim=True) / x.size(-1)
        front = ascii_lowercase[: x.dim() - 1]
        second = einsum(f"{front}z,{front}z->{front}", c, c) / x.size(-1)
        return c * (second + self.eps).pow(-0.5).unsqueeze(-1) * self.scale + self.shift


class CrossAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} / {num_heads}")
        self.h = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        q = self.to_queries(x).unflatten(-1, (self.h, -1))
        k = self.to_keys(memory).unflatten(-1, (self.h, -1))
        v = self.to_values(memory).unflatten(-1, (self.h, -1))
        dots = einsum("bthd,bshd->bhts", q, k) / math.sqrt(k.size(-1))
        if memory_mask is not None:
            dots = torch.where(memory_mask[:, None, None, :], dots, -math.inf)
        top = dots.detach().amax(-1, keepdim=True)
        powers = torch.exp(dots - torch.where(top.isfinite(), top, 0.0))
        total = powers.sum(-1, keepdim=True)
        weights = powers / torch.where(total > 0, total, 1.0)
        return self.unify_heads(einsum("bhts,bshd->bthd", weights, v).flatten(2))


class DecoderLayer(nn.Module):
    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        feed_forward: nn.Module,
        embed_dim: int,
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.norm1, self.norm2, self.norm3 = (LayerNorm(embed_dim) for _ in range(3))
        self.p = dropout

    def drop(self, y: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return y
        return y * torch.rand_like(y).gt(self.p) / (1 - self.p)

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        places = torch.arange(x.size(1), device=x.device)
        seen = (places[:, None] >= places[None, :])[None]
        a = x + self.drop(self.self_attention(self.norm1(x), mask=seen))
        b = a + self.drop(
            self.cross_attention(self.norm2(a), memory=memory, memory_mask=memory_mask)
        )
        return b + self.drop(self.feed_forward(self.norm3(b)))
