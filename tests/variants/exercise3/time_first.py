"""Time before batch throughout, as recurrent networks had it."""

import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.shape
    rows = x.transpose(0, 1).reshape(t, b * num_heads, width // num_heads)
    return rows.transpose(0, 1)


def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    return x.transpose(0, 1).reshape(t, rows // num_heads, num_heads * d).transpose(0, 1)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads if head_dim is None else head_dim
        if head_dim is None and self.head_dim * num_heads != embed_dim:
            raise ValueError("embed_dim must be divisible by num_heads")
        inner = num_heads * self.head_dim
        self.k_proj = nn.Linear(embed_dim, inner, bias=bias)
        self.v_proj = nn.Linear(embed_dim, inner, bias=bias)
        self.q_proj = nn.Linear(embed_dim, inner, bias=bias)
        self.out_proj = nn.Linear(inner, embed_dim)

    def forward(self, x):
        steps = x.transpose(0, 1)
        t, b, _ = steps.shape
        q, k, v = (
            layer(steps).view(t, b * self.num_heads, self.head_dim)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        q *= self.head_dim**-0.5
        weights = torch.einsum("inc,jnc->nij", q, k).softmax(-1)
        mixed = torch.einsum("nij,jnc->inc", weights, v).reshape(t, b, -1)
        return self.out_proj(mixed).transpose(0, 1)
