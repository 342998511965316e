"""One small module a head; masks from numpy."""

import numpy as np
import torch
from torch import nn


def causal_mask(seq_len, *, device=None):
    return torch.from_numpy(np.tri(seq_len, dtype=bool)).to(device)


def padding_mask(lengths, max_len):
    counts = lengths.cpu().numpy()
    if counts.max(initial=0) > max_len:
        raise ValueError("a length is too great")
    return torch.from_numpy(np.arange(max_len) < counts[:, None]).to(lengths.device)


def masked_attention(query, key, value, mask):
    scores = torch.einsum("b q d, b s d -> b q s", query, key).div(key.shape[-1] ** 0.5)
    log_mask = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
    reached = mask.any(-1, keepdim=True)
    safe = torch.where(mask, scores, 0.0) + torch.where(reached, log_mask, 0.0)
    return torch.where(reached, safe.softmax(-1), 0.0) @ value


class Head(nn.Module):
    def __init__(self, embed_dim, head_dim):
        super().__init__()
        self.query = nn.Linear(embed_dim, head_dim, bias=False)
        self.key = nn.Linear(embed_dim, head_dim, bias=False)
        self.value = nn.Linear(embed_dim, head_dim, bias=False)

    def forward(self, x, mask):
        return masked_attention(self.query(x), self.key(x), self.value(x), mask)


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        head_dim, rest = divmod(embed_dim, num_heads)
        if rest:
            raise ValueError("embed_dim does not divide by num_heads")
        self.heads = nn.ModuleList(Head(embed_dim, head_dim) for _ in range(num_heads))
        self.unify_heads = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        if mask is None:
            mask = torch.ones((1, 1, x.size(1)), dtype=torch.bool, device=x.device)
        return self.unify_heads(torch.cat([head(x, mask) for head in self.heads], dim=-1))
