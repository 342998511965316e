"""nanoGPT manner: c_attn makes all three at once, split by inner width, c_proj at the end."""
import math

import torch.nn as nn
from torch.nn import functional as F


def fold_heads(x, num_heads):
    B, T, C = x.size()
    x = x.reshape(B, T, num_heads, C // num_heads).transpose(1, 2)  # (B, nh, T, hs)
    return x.flatten(0, 1)


def unfold_heads(x, num_heads):
    BH, T, hs = x.size()
    x = x.unflatten(0, (BH // num_heads, num_heads))  # (B, nh, T, hs)
    return x.transpose(1, 2).flatten(2, 3)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads:
            raise ValueError("embed_dim is not a multiple of num_heads")
        self.n_head = num_heads
        self.inner = num_heads * (embed_dim // num_heads if head_dim is None else head_dim)
        self.c_attn = nn.Linear(embed_dim, 3 * self.inner, bias=bias)
        self.c_proj = nn.Linear(self.inner, embed_dim)

    def forward(self, x):
        B, T, _ = x.size()
        q, k, v = self.c_attn(x).split(self.inner, dim=2)
        k = k.view(B, T, self.n_head, self.inner // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, self.inner // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, self.inner // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = F.softmax(att, dim=-1)
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, self.inner)
        return self.c_proj(y)
