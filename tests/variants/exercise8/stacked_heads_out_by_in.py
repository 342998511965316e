"""Weights stacked by head, (heads, head_dim, embed_dim), and all heads by einsum."""

import torch
from torch import nn


def causal_mask(seq_len, *, device=None):
    return torch.ones((seq_len, seq_len), dtype=torch.bool, device=device).tril()


def padding_mask(lengths, max_len):
    if int(lengths.max()) > max_len:
        raise ValueError("too long")
    return torch.arange(max_len, device=lengths.device)[None, :] < lengths[:, None]


def masked_attention(query, key, value, mask):
    scores = torch.einsum("bqd,bsd->bqs", query, key) / key.shape[-1] ** 0.5
    mask = mask.expand(scores.shape)
    alive = mask.any(-1, keepdim=True)
    weights = scores.masked_fill(~mask & alive, float("-inf")).softmax(-1)
    return (weights * alive) @ value


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        head_dim, rest = divmod(embed_dim, num_heads)
        if rest:
            raise ValueError("embed_dim must be divisible by num_heads")
        shape = num_heads, head_dim, embed_dim
        self.of_queries, self.of_keys, self.of_values = (
            nn.Parameter(torch.randn(shape) / embed_dim**0.5) for _ in range(3)
        )
        self.joined = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        b, t, k = x.shape
        if mask is None:
            mask = torch.ones(1, 1, t, dtype=torch.bool, device=x.device)
        stacked = self.of_queries, self.of_keys, self.of_values
        heads = self.of_queries.shape[0]
        parts = (torch.einsum("btk,hdk->bhtd", x, w).flatten(0, 1) for w in stacked)
        mixed = masked_attention(*parts, mask.expand(b, t, t).repeat_interleave(heads, 0))
        return self.joined(mixed.unflatten(0, (b, heads)).transpose(1, 2).reshape(b, t, k))
