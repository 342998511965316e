"""Minus infinity by masked_fill and nan_to_num afterwards; stacked raw weights."""

import torch
from torch import nn


def causal_mask(seq_len, *, device=None):
    return torch.ones(seq_len, seq_len, device=device, dtype=torch.uint8).tril() == 1


def padding_mask(lengths, max_len):
    if (lengths.long() > max_len).sum() > 0:
        raise ValueError("length")
    ones = torch.ones(lengths.shape[0], max_len, device=lengths.device)
    return ones.cumsum(dim=1) <= lengths.unsqueeze(-1)


def masked_attention(query, key, value, mask):
    scores = (query / query.shape[-1] ** 0.5) @ key.transpose(1, 2)
    weights = scores.masked_fill(mask == False, -torch.inf).softmax(dim=2)  # noqa: E712
    return torch.nan_to_num(weights) @ value


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(num_heads)
        self.n = num_heads
        self.to_queries = nn.Parameter(torch.randn(embed_dim, embed_dim) / embed_dim**0.5)
        self.to_keys = nn.Parameter(torch.randn(embed_dim, embed_dim) / embed_dim**0.5)
        self.to_values = nn.Parameter(torch.randn(embed_dim, embed_dim) / embed_dim**0.5)
        self.unify_heads = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        if mask is None:
            mask = torch.ones(1, 1, 1, device=x.device) > 0
        q, k, v = (
            torch.stack((x @ w).chunk(self.n, -1), 1).flatten(0, 1)
            for w in (self.to_queries, self.to_keys, self.to_values)
        )
        if mask.dim() == 3 and mask.shape[0] > 1:
            mask = mask.unsqueeze(1).repeat(1, self.n, 1, 1).flatten(0, 1)
        y = masked_attention(q, k, v, mask)
        y = y.unflatten(0, (-1, self.n)).permute(0, 2, 1, 3).flatten(2)
        return self.unify_heads(y)
