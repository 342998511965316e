"""One wide layer, cut into three by split; the head derives from the projection's module."""
import torch
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.width = head_dim
        self.to_qkv = nn.Linear(embed_dim, head_dim * 3, bias=bias)

    def forward(self, x):
        return tuple(self.to_qkv(x).split(self.width, dim=-1))


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.to_qkv = nn.Linear(embed_dim, head_dim * 3, bias=bias)
        self.width = head_dim

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.to_qkv(x).reshape(b, t, 3, self.width).permute(2, 0, 1, 3)
        attn = (q @ k.transpose(-2, -1)) * self.width**-0.5
        return attn.softmax(dim=-1) @ v
