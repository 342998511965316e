"""Triangles by tril, masks by where, four axes for the heads."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def causal_mask(seq_len, device=None):
    return torch.tril(torch.ones(seq_len, seq_len, device=device)).bool()


def padding_mask(lengths, max_len):
    if lengths.max() > max_len:
        raise ValueError("too long")
    return torch.arange(max_len, device=lengths.device)[None, :] < lengths[:, None]


def masked_attention(query, key, value, mask):
    d = query.shape[-1]
    scores = torch.matmul(query, key.transpose(-2, -1)) / d**0.5
    scores = torch.where(mask, scores, torch.full_like(scores, float("-inf")))
    empty = ~mask.any(dim=-1, keepdim=True)
    scores = torch.where(empty, torch.zeros_like(scores), scores)
    weights = F.softmax(scores, dim=-1) * mask
    return torch.matmul(weights, value)


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.h = num_heads
        self.d = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        b, t, k = x.shape
        q, key, v = (
            layer(x).view(b, t, self.h, self.d).transpose(1, 2)
            for layer in (self.to_queries, self.to_keys, self.to_values)
        )
        if mask is None:
            mask = torch.ones(1, t, t, dtype=torch.bool, device=x.device)
        if mask.dim() == 3:
            mask = mask.unsqueeze(1)
        out = masked_attention(q, key, v, mask)
        return self.unify_heads(out.transpose(1, 2).contiguous().view(b, t, k))
