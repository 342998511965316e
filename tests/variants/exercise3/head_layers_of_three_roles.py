"""Each head has one small layer for its three roles, so heads come first and roles second."""
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
        self.d = head_dim
        self.q = nn.ModuleList(nn.Linear(embed_dim, head_dim, bias=bias) for _ in range(num_heads))
        self.k = nn.ModuleList(nn.Linear(embed_dim, head_dim, bias=bias) for _ in range(num_heads))
        self.v = nn.ModuleList(nn.Linear(embed_dim, head_dim, bias=bias) for _ in range(num_heads))
        self.o = nn.Linear(num_heads * head_dim, embed_dim)

    def forward(self, x):
        q, k, v = (torch.stack([f(x) for f in part], dim=1) for part in (self.q, self.k, self.v))
        w = torch.einsum("nhqd,nhsd->nhqs", q, k).div(self.d**0.5).softmax(dim=3)
        return self.o(torch.einsum("nhqs,nhsd->nqhd", w, v).flatten(start_dim=2))
