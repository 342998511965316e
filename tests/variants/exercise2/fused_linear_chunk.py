"""One nn.Linear makes queries, keys and values at once and chunk parts them."""
import torch.nn as nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.qkv = nn.Linear(embed_dim, 3 * head_dim, bias=bias)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return q, k, v


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias=bias)
        self.scale = head_dim**-0.5

    def forward(self, x):
        q, k, v = self.projection(x)
        attn = (q @ k.transpose(-2, -1)) * self.scale
        attn = attn.softmax(dim=-1)
        return attn @ v
