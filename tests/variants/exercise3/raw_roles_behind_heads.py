"""Raw parameters: queries (k, h, d), keys and values together (h, d, 2, k), the end (h, d, k)."""
from itertools import chain

import torch
from torch import nn


def fold_heads(x, num_heads):
    return torch.stack(list(chain(*(sample.chunk(num_heads, -1) for sample in x))))


def unfold_heads(x, num_heads):
    return torch.stack([torch.cat([*heads], dim=-1) for heads in x.split(num_heads)])


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):
        super().__init__()
        d = head_dim
        if d is None:
            d, rest = divmod(embed_dim, num_heads)
            if rest:
                raise ValueError("embed_dim has to be a multiple of num_heads, or give head_dim")
        new = lambda *sizes: nn.Parameter(torch.randn(sizes) * embed_dim**-0.5)
        self.ask = new(embed_dim, num_heads, d)
        self.offer = new(num_heads, d, 2, embed_dim)
        self.join = new(num_heads, d, embed_dim)
        self.ask_bias = new(num_heads, 1, d) if bias else None
        self.offer_bias = new(2, 1, num_heads, 1, d) if bias else None
        self.join_bias = nn.Parameter(torch.zeros(embed_dim))

    def forward(self, x):
        q = torch.einsum("btk,khd->bhtd", x, self.ask)
        both = torch.einsum("btk,hdnk->nbhtd", x, self.offer)
        if self.ask_bias is not None:
            q, both = q + self.ask_bias, both + self.offer_bias
        k, v = both
        shares = torch.einsum("bhid,bhjd->bhij", q / q.size(-1) ** 0.5, k).softmax(-1)
        return torch.einsum("bhij,bhjd,hdk->bik", shares, v, self.join) + self.join_bias
