"""Matrices of its own, rows as outputs, as torch's functional linear takes them."""

import torch
from torch import nn
from torch.nn import functional as F


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
        if embed_dim % num_heads:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.heads = num_heads
        self.w_q = nn.Parameter(torch.empty(embed_dim, embed_dim))
        self.w_k = nn.Parameter(torch.empty(embed_dim, embed_dim))
        self.w_v = nn.Parameter(torch.empty(embed_dim, embed_dim))
        self.w_o = nn.Parameter(torch.empty(embed_dim, embed_dim))
        self.b_o = nn.Parameter(torch.zeros(embed_dim))
        for weight in (self.w_q, self.w_k, self.w_v, self.w_o):
            nn.init.xavier_uniform_(weight)

    def split(self, x):
        b, t, k = x.shape
        return x.reshape(b, t, self.heads, k // self.heads).transpose(1, 2).flatten(0, 1)

    def forward(self, x, mask=None):
        b, t, k = x.shape
        if mask is None:
            mask = torch.ones(1, 1, t, dtype=torch.bool, device=x.device)
        mask = mask.expand(b, t, t).repeat_interleave(self.heads, 0)
        q, key, v = (self.split(F.linear(x, w)) for w in (self.w_q, self.w_k, self.w_v))
        y = masked_attention(q, key, v, mask)
        y = y.unflatten(0, (b, self.heads)).transpose(1, 2).reshape(b, t, k)
        return F.linear(y, self.w_o, self.b_o)
