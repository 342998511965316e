"""query.linear, key.linear and value.linear, time first inside, and einsum, as in annotated paper code."""
import math

import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.shape
    return x.reshape(b, t, num_heads, width // num_heads).transpose(1, 2).reshape(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    return x.reshape(rows // num_heads, num_heads, t, d).transpose(1, 2).reshape(rows // num_heads, t, -1)


class PrepareForMultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, heads: int, d_k: int, bias: bool):
        super().__init__()
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)
        self.heads = heads
        self.d_k = d_k

    def forward(self, x: torch.Tensor):
        head_shape = x.shape[:-1]
        return self.linear(x).view(*head_shape, self.heads, self.d_k)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, head_dim: int = None, bias: bool = False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("embed_dim must be divisible by num_heads")
            head_dim = embed_dim // num_heads
        self.query = PrepareForMultiHeadAttention(embed_dim, num_heads, head_dim, bias=bias)
        self.key = PrepareForMultiHeadAttention(embed_dim, num_heads, head_dim, bias=bias)
        self.value = PrepareForMultiHeadAttention(embed_dim, num_heads, head_dim, bias=bias)
        self.softmax = nn.Softmax(dim=1)
        self.output = nn.Linear(num_heads * head_dim, embed_dim)
        self.scale = 1 / math.sqrt(head_dim)

    def forward(self, x: torch.Tensor):
        x = x.transpose(0, 1)  # (t, b, k)
        seq_len, batch_size, _ = x.shape
        query, key, value = self.query(x), self.key(x), self.value(x)
        scores = torch.einsum("ibhd,jbhd->ijbh", query, key) * self.scale
        attn = self.softmax(scores)
        out = torch.einsum("ijbh,jbhd->ibhd", attn, value)
        return self.output(out.reshape(seq_len, batch_size, -1)).transpose(0, 1)
