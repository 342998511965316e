"""Four layers in one ModuleList, zipped with the three inputs, as the annotated transformer does it."""
import math

import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.shape
    return x.reshape(b, t, num_heads, width // num_heads).transpose(1, 2).reshape(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    return x.reshape(rows // num_heads, num_heads, t, d).transpose(1, 2).reshape(rows // num_heads, t, -1)


def attention(query, key, value):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, value), p_attn


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("embed_dim must be divisible by num_heads")
            head_dim = embed_dim // num_heads
        self.d_k, self.h = head_dim, num_heads
        self.linears = nn.ModuleList(
            [nn.Linear(embed_dim, num_heads * head_dim, bias=bias) for _ in range(3)]
            + [nn.Linear(num_heads * head_dim, embed_dim)]
        )

    def forward(self, x):
        nbatches = x.size(0)
        query, key, value = [
            lin(y).view(nbatches, -1, self.h, self.d_k).transpose(1, 2) for lin, y in zip(self.linears, (x, x, x))
        ]
        x, _ = attention(query, key, value)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linears[-1](x)
