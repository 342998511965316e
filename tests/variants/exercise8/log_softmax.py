"""Weights by logsumexp; the mask's triangle by cumulative sums."""

import torch
import torch.nn.functional as F
from torch import nn


def causal_mask(seq_len, *, device=None):
    return torch.eye(seq_len, device=device).cumsum(0).gt(0)


def padding_mask(lengths, max_len):
    if not torch.all(lengths <= max_len):
        raise ValueError("lengths must be at most max_len")
    lengths = lengths.to(torch.int64)
    return F.one_hot(lengths, max_len + 1).cumsum(-1)[:, :max_len].eq(0)


def masked_attention(query, key, value, mask):
    scores = torch.matmul(query, key.transpose(-1, -2)) / torch.tensor(key.shape[-1]).sqrt()
    scores = scores.masked_fill(torch.bitwise_not(mask), -torch.inf)
    alive = mask.any(-1, keepdim=True).expand_as(scores)
    scores = scores.masked_fill(~alive, 0)
    weights = (scores - torch.logsumexp(scores, -1, keepdim=True)).exp()
    return torch.matmul(weights * alive, value)


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} / {num_heads}")
        self.num_heads = num_heads
        self.linears = nn.ModuleDict(
            {
                "key": nn.Linear(embed_dim, embed_dim, bias=False),
                "query": nn.Linear(embed_dim, embed_dim, bias=False),
                "value": nn.Linear(embed_dim, embed_dim, bias=False),
                "output": nn.Linear(embed_dim, embed_dim),
            }
        )

    def forward(self, x, mask=None):
        b, t, k = x.shape
        split = (b, t, self.num_heads, -1)
        q, key, v = (
            self.linears[name](x).reshape(split).movedim(2, 0).flatten(0, 1)
            for name in ("query", "key", "value")
        )
        if mask is None:
            mask = causal_mask(t, device=x.device) | True
        mask = mask.expand(b, t, t).repeat(self.num_heads, 1, 1)
        out = masked_attention(q, key, v, mask)
        out = out.unflatten(0, (self.num_heads, b)).movedim(0, 2).flatten(2)
        return self.linears["output"](out)
