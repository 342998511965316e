import torch
import torch.nn as nn
import torch.nn.functional as F


def fold_heads(x, num_heads):
    b, t, e = x.shape
    d = e // num_heads
    return x.view(b, t, num_heads, d).transpose(1, 2).reshape(b * num_heads, t, d)


def unfold_heads(x, num_heads):
    bh, t, d = x.shape
    b = bh // num_heads
    return x.view(b, num_heads, t, d).transpose(1, 2).reshape(b, t, num_heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads:
            raise ValueError("no")
        self.h = num_heads
        self.d = head_dim or embed_dim // num_heads
        m = self.h * self.d
        self.lin_a = nn.Linear(embed_dim, m, bias=bias)
        self.lin_b = nn.Linear(embed_dim, m, bias=bias)
        self.lin_c = nn.Linear(embed_dim, m, bias=bias)
        self.lin_d = nn.Linear(m, embed_dim)

    def forward(self, x):
        b, t, e = x.shape
        q = self.lin_b(x).view(b, t, self.h, self.d).transpose(1, 2)
        k = self.lin_a(x).view(b, t, self.h, self.d).transpose(1, 2)
        v = self.lin_c(x).view(b, t, self.h, self.d).transpose(1, 2)
        s = q @ k.transpose(-2, -1) / self.d**0.5
        w = s.softmax(-1)
        y = w @ v
        y = y.transpose(1, 2).contiguous().view(b, t, self.h * self.d)
        return self.lin_d(y)
