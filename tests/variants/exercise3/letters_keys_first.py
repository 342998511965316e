"""lin_a makes the keys, lin_b the queries, lin_c the values: neither names nor order tell it."""
import torch
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
        self.lin_a = nn.Linear(embed_dim, n, bias=bias)
        self.lin_b = nn.Linear(embed_dim, n, bias=bias)
        self.lin_c = nn.Linear(embed_dim, n, bias=bias)
        self.lin_d = nn.Linear(n, embed_dim)
        self.h, self.d = num_heads, head_dim

    def forward(self, x):
        b, t, _ = x.shape
        p = self.lin_a(x).view(b, t, self.h, self.d).transpose(1, 2)
        r = self.lin_b(x).view(b, t, self.h, self.d).transpose(1, 2)
        s = self.lin_c(x).view(b, t, self.h, self.d).transpose(1, 2)
        m = torch.softmax(r @ p.transpose(2, 3) / self.d**0.5, dim=-1)
        return self.lin_d((m @ s).transpose(1, 2).flatten(2))
