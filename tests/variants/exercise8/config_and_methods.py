"""A configuration, methods for each step, and a mask that is turned into numbers."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    embed_dim: int
    num_heads: int

    def __post_init__(self):
        if self.embed_dim % self.num_heads:
            raise ValueError("embed_dim and num_heads do not fit")

    @property
    def head_dim(self):
        return self.embed_dim // self.num_heads


def causal_mask(seq_len, *, device=None):
    positions = torch.arange(seq_len, device=device)
    return torch.less_equal(positions[None], positions[:, None])


def padding_mask(lengths, max_len):
    if len(lengths) and max(lengths.tolist()) > max_len:
        raise ValueError("too long")
    return torch.arange(max_len).to(lengths.device).lt(lengths[:, None])


def masked_attention(query, key, value, mask):
    scores = torch.bmm(query, key.permute(0, 2, 1)).mul(key.size(-1) ** -0.5)
    numbers = mask.to(scores.dtype)
    scores = scores - scores.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True).clamp(min=-1e30).detach()
    exps = torch.exp(torch.where(mask, scores, 0.0)) * numbers
    return torch.bmm(exps / exps.sum(-1, keepdim=True).clamp(min=1e-30), value)


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.config = Config(embed_dim, num_heads)
        self.values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.combine = nn.Linear(embed_dim, embed_dim)

    def split(self, x):
        b, t, _ = x.shape
        x = x.view(b, t, self.config.num_heads, self.config.head_dim)
        return x.transpose(1, 2).reshape(-1, t, self.config.head_dim)

    def merge(self, x, b):
        _, t, d = x.shape
        return x.view(b, -1, t, d).transpose(1, 2).reshape(b, t, -1)

    def spread(self, mask, x):
        b, t, _ = x.shape
        if mask is None:
            return torch.ones(1, 1, 1, dtype=torch.bool, device=x.device)
        mask = mask.expand(b, t, t)[:, None].expand(-1, self.config.num_heads, -1, -1)
        return mask.reshape(-1, t, t)

    def forward(self, x, mask=None):
        parts = [self.split(layer(x)) for layer in (self.queries, self.keys, self.values)]
        return self.combine(self.merge(masked_attention(*parts, self.spread(mask, x)), len(x)))
