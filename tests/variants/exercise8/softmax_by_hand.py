"""The softmax by hand: exponentials of what is seen, divided by their sum where there is one."""

import math

import torch
from torch import nn


def causal_mask(seq_len, *, device=None):
    i = torch.arange(seq_len, device=device)
    return i[:, None] >= i[None, :]


def padding_mask(lengths, max_len):
    if bool(torch.any(lengths > max_len)):
        raise ValueError("a length is beyond max_len")
    grid = torch.arange(max_len, device=lengths.device).expand(len(lengths), max_len)
    return grid.lt(lengths.view(-1, 1))


def masked_attention(query, key, value, mask):
    scores = torch.einsum("bqd,bkd->bqk", query, key) / math.sqrt(query.size(2))
    mask = mask.expand_as(scores)
    largest = scores.masked_fill(~mask, -math.inf).amax(dim=-1, keepdim=True)
    largest = torch.where(largest.isinf(), torch.zeros_like(largest), largest).detach()
    exps = torch.where(mask, scores - largest, torch.zeros_like(scores)).exp() * mask
    total = exps.sum(dim=-1, keepdim=True)
    weights = exps / torch.where(total == 0, torch.ones_like(total), total)
    return torch.einsum("bqk,bkd->bqd", weights, value)


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim % num_heads must be 0")
        self.num_heads = num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim, bias=False)
        self.proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        b, t, k = x.shape
        h = self.num_heads
        mask = causal_mask(1, device=x.device).expand(b, t, t) if mask is None else mask
        q, key, v = self.qkv(x).chunk(3, dim=-1)

        def fold(y):
            return y.reshape(b, t, h, k // h).permute(0, 2, 1, 3).reshape(b * h, t, k // h)

        mask = mask.expand(b, t, t).unsqueeze(1).expand(b, h, t, t).reshape(b * h, t, t)
        y = masked_attention(fold(q), fold(key), fold(v), mask)
        return self.proj(y.reshape(b, h, t, k // h).permute(0, 2, 1, 3).reshape(b, t, k))
