"""Four weights and the biases as parameters of the module's own, through F.linear."""
import math

import torch
import torch.nn.functional as F
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
        width = num_heads * head_dim
        self.q_weight = nn.Parameter(torch.randn(width, embed_dim) / math.sqrt(embed_dim))
        self.k_weight = nn.Parameter(torch.randn(width, embed_dim) / math.sqrt(embed_dim))
        self.v_weight = nn.Parameter(torch.randn(width, embed_dim) / math.sqrt(embed_dim))
        self.out_weight = nn.Parameter(torch.randn(embed_dim, width) / math.sqrt(width))
        self.out_bias = nn.Parameter(torch.zeros(embed_dim))
        if bias:
            self.q_bias = nn.Parameter(torch.zeros(width))
            self.k_bias = nn.Parameter(torch.zeros(width))
            self.v_bias = nn.Parameter(torch.zeros(width))
        else:
            self.q_bias = self.k_bias = self.v_bias = None
        self.num_heads = num_heads

    def forward(self, x):
        q = fold_heads(F.linear(x, self.q_weight, self.q_bias), self.num_heads)
        k = fold_heads(F.linear(x, self.k_weight, self.k_bias), self.num_heads)
        v = fold_heads(F.linear(x, self.v_weight, self.v_bias), self.num_heads)
        w = F.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1)
        return F.linear(unfold_heads(w @ v, self.num_heads), self.out_weight, self.out_bias)
