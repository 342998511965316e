"""A Head module with its own three linears, several of them in a ModuleList (the style of a popular lecture)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Head(nn.Module):
    """one head of self-attention"""

    def __init__(self, n_embd, head_size, bias):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=bias)
        self.query = nn.Linear(n_embd, head_size, bias=bias)
        self.value = nn.Linear(n_embd, head_size, bias=bias)

    def forward(self, x):
        k = self.key(x)
        q = self.query(x)
        wei = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        wei = F.softmax(wei, dim=-1)
        return wei @ self.value(x)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            head_dim = self.narrow(embed_dim, num_heads)
        self.heads = nn.ModuleList([Head(embed_dim, head_dim, bias) for _ in range(num_heads)])
        self.proj = nn.Linear(head_dim * num_heads, embed_dim)

    @staticmethod
    def narrow(embed_dim, num_heads):
        if embed_dim % num_heads:
            raise ValueError("the heads do not divide the embedding")
        return embed_dim // num_heads

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return self.proj(out)


def fold_heads(x, num_heads):
    B, T, C = x.shape
    x = x.reshape(B, T, num_heads, C // num_heads)
    return x.swapaxes(1, 2).reshape(B * num_heads, T, C // num_heads)


def unfold_heads(x, num_heads):
    BH, T, D = x.shape
    x = x.reshape(BH // num_heads, num_heads, T, D)
    return x.swapaxes(1, 2).reshape(BH // num_heads, T, num_heads * D)
