"""Four axes, a softmax written out with the largest score subtracted, and the scale put on the keys."""
import numpy as np
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
        self.d_k = head_dim if head_dim is not None else embed_dim // num_heads
        if head_dim is None and self.d_k * num_heads != embed_dim:
            raise ValueError(f"{embed_dim} is not a multiple of {num_heads}")
        self.heads = num_heads
        self.W_Q = nn.Linear(embed_dim, self.d_k * num_heads, bias=bias)
        self.W_K = nn.Linear(embed_dim, self.d_k * num_heads, bias=bias)
        self.W_V = nn.Linear(embed_dim, self.d_k * num_heads, bias=bias)
        self.W_O = nn.Linear(self.d_k * num_heads, embed_dim)

    def forward(self, X):
        batch, length, _ = X.shape
        Q = self.W_Q(X).reshape(batch, length, self.heads, self.d_k).swapaxes(1, 2)
        K = self.W_K(X).reshape(batch, length, self.heads, self.d_k).permute(0, 2, 3, 1) / np.sqrt(self.d_k)
        V = self.W_V(X).reshape(batch, length, self.heads, self.d_k).swapaxes(1, 2)
        E = Q @ K
        E = (E - E.amax(dim=3, keepdim=True)).exp()
        Z = E / E.sum(dim=3, keepdim=True) @ V
        return self.W_O(Z.swapaxes(1, 2).reshape(batch, length, self.heads * self.d_k))
