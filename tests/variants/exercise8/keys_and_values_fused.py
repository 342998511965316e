"""Keys and values by one layer; einsum over four axes; the mask broadcasts by itself."""

import torch
from torch import nn


def causal_mask(seq_len, *, device=None):
    mask = torch.zeros(seq_len, seq_len, dtype=torch.bool, device=device)
    rows, columns = torch.tril_indices(seq_len, seq_len, device=device)
    mask[rows, columns] = True
    return mask


def padding_mask(lengths, max_len):
    if lengths.amax() > max_len:
        raise ValueError("max_len")
    steps = torch.arange(1, max_len + 1, device=lengths.device)
    return lengths[..., None] >= steps


def _attend(q, k, v, mask):
    scores = torch.einsum("...qd,...kd->...qk", q, k) * k.size(-1) ** -0.5
    hidden = ~mask
    weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
    weights = weights.masked_fill(hidden, 0)
    return torch.einsum("...qk,...kd->...qd", weights, v)


def masked_attention(query, key, value, mask):
    return _attend(query, key, value, mask)


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("not divisible")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.kv = nn.Linear(embed_dim, 2 * embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim)

    def _split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, x, mask=None):
        q = self._split(self.to_queries(x))
        k, v = map(self._split, self.kv(x).split(x.size(-1), dim=-1))
        if mask is None:
            mask = torch.ones((), dtype=torch.bool, device=x.device)
        elif mask.ndim == 3:
            mask = mask[:, None]
        return self.unify_heads(_attend(q, k, v, mask).transpose(1, 2).flatten(-2))
