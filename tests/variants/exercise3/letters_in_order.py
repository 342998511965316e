"""Layers a, b, c and d, made in the order of use."""
from exercise1_attention import scaled_dot_product_attention
from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.shape
    return x.reshape(b, t, num_heads, width // num_heads).transpose(1, 2).reshape(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    return x.reshape(rows // num_heads, num_heads, t, d).transpose(1, 2).reshape(rows // num_heads, t, -1)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("embed_dim must be divisible by num_heads")
            head_dim = embed_dim // num_heads
        n = num_heads * head_dim
        self.a = nn.Linear(embed_dim, n, bias=bias)
        self.b = nn.Linear(embed_dim, n, bias=bias)
        self.c = nn.Linear(embed_dim, n, bias=bias)
        self.d = nn.Linear(n, embed_dim)
        self.h = num_heads

    def forward(self, x):
        a, b, c = (fold_heads(layer(x), self.h) for layer in (self.a, self.b, self.c))
        return self.d(unfold_heads(scaled_dot_product_attention(a, b, c), self.h))
