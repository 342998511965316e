import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.size()
    return x.view(b, t, num_heads, width // num_heads).transpose(1, 2).reshape(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    rows, t, d = x.size()
    b = rows // num_heads
    return x.reshape(b, num_heads, t, d).transpose(1, 2).reshape(b, t, num_heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, bias=bias, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)[0]
