"""Products of the mask: sums over what is seen, of samples in a loop."""

import math

import torch
from torch import nn


def causal_mask(seq_len, *, device=None):
    grid = torch.cartesian_prod(*[torch.arange(seq_len, device=device)] * 2)
    return (grid[:, 1] <= grid[:, 0]).view(seq_len, seq_len)


def padding_mask(lengths, max_len):
    out = torch.full((lengths.numel(), max_len), False, device=lengths.device)
    for i in range(lengths.numel()):
        n = lengths[i].item()
        if n > max_len:
            raise ValueError(f"sample {i} is {n} long")
        out[i, :n] = True
    return out


def one_sample(query, key, value, mask):
    scores = query @ key.T / math.sqrt(key.shape[1])
    rows = mask.any(1)
    weights = torch.zeros_like(scores)
    filled = scores[rows].masked_fill(~mask[rows], -math.inf)
    weights[rows] = torch.softmax(filled, 1)
    return weights @ value


def masked_attention(query, key, value, mask):
    mask = mask.broadcast_to(query.shape[0], query.shape[1], key.shape[1])
    return torch.stack([one_sample(*parts) for parts in zip(query, key, value, mask)])


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads > 0:
            raise ValueError("embed_dim")
        self.num_heads = num_heads
        self.fc1 = nn.Linear(embed_dim, embed_dim, bias=False)
        self.fc2 = nn.Linear(embed_dim, embed_dim, bias=False)
        self.fc3 = nn.Linear(embed_dim, embed_dim, bias=False)
        self.fc4 = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        size = x.shape[2] // self.num_heads
        q, k, v = self.fc1(x), self.fc2(x), self.fc3(x)
        mask = torch.ones_like(q[:, :, :1] @ k[:, :, :1].mT, dtype=torch.bool) if mask is None else mask
        out = torch.empty_like(q)
        for start in range(0, x.shape[2], size):
            own = slice(start, start + size)
            out[:, :, own] = masked_attention(q[:, :, own], k[:, :, own], v[:, :, own], mask)
        return self.fc4(out)
