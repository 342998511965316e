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
        self.query = nn.Linear(embed_dim, m, bias=bias)
        self.key = nn.Linear(embed_dim, m, bias=bias)
        self.value = nn.Linear(embed_dim, m, bias=bias)
        self.w_o = nn.Linear(m, embed_dim, bias=False)

    def forward(self, x):
        b, t, e = x.shape
        q = self.query(x).view(b, t, self.h, self.d).transpose(1, 2)
        k = self.key(x).view(b, t, self.h, self.d).transpose(1, 2)
        v = self.value(x).view(b, t, self.h, self.d).transpose(1, 2)
        s = q @ k.transpose(-2, -1) / self.d**0.5
        w = s.softmax(-1)
        y = w @ v
        y = y.transpose(1, 2).contiguous().view(b, t, self.h * self.d)
        return self.w_o(y)
