"""Masks entry by entry; attention one query at a time, over the keys that it may see."""

import torch
from torch import nn


def causal_mask(seq_len, *, device=None):
    rows = [[j <= i for j in range(seq_len)] for i in range(seq_len)]
    return torch.tensor(rows, dtype=torch.bool, device=device)


def padding_mask(lengths, max_len):
    rows = []
    for length in lengths.tolist():
        if length > max_len:
            raise ValueError(length)
        rows.append([True] * length + [False] * (max_len - length))
    return torch.tensor(rows, dtype=torch.bool, device=lengths.device)


def masked_attention(query, key, value, mask):
    b, t_q, d = query.shape
    mask = mask.expand(b, t_q, key.shape[1])
    samples = []
    for i in range(b):
        outputs = []
        for j in range(t_q):
            seen = mask[i, j].nonzero().flatten()
            if len(seen) == 0:
                outputs.append(value.new_zeros(value.shape[-1]))
                continue
            weights = torch.softmax(key[i, seen] @ query[i, j] / d**0.5, dim=0)
            outputs.append(weights @ value[i, seen])
        samples.append(torch.stack(outputs))
    return torch.stack(samples)


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim // num_heads * num_heads != embed_dim:
            raise ValueError("no equal share for each head")
        self.num_heads = num_heads
        self.query = nn.Linear(embed_dim, embed_dim, bias=False)
        self.key = nn.Linear(embed_dim, embed_dim, bias=False)
        self.value = nn.Linear(embed_dim, embed_dim, bias=False)
        self.out = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        if mask is None:
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)
        parts = zip(
            self.query(x).chunk(self.num_heads, -1),
            self.key(x).chunk(self.num_heads, -1),
            self.value(x).chunk(self.num_heads, -1),
        )
        return self.out(torch.cat([masked_attention(q, k, v, mask) for q, k, v in parts], -1))
