"""Einops names the axes; the inputs of all heads lie in one fused layer."""
import torch
from einops import rearrange
from torch import einsum, nn


def fold_heads(x, num_heads):
    return rearrange(x, "b t (h d) -> (b h) t d", h=num_heads)


def unfold_heads(x, num_heads):
    return rearrange(x, "(b h) t d -> b t (h d)", h=num_heads)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("embed_dim has to be a multiple of num_heads")
            head_dim = embed_dim // num_heads
        self.heads = num_heads
        self.scale = head_dim**-0.5
        self.to_qkv = nn.Linear(embed_dim, 3 * num_heads * head_dim, bias=bias)
        self.to_out = nn.Linear(num_heads * head_dim, embed_dim)

    def forward(self, x):
        q, k, v = rearrange(self.to_qkv(x), "b t (r h d) -> r b h t d", r=3, h=self.heads)
        dots = einsum("b h i d, b h j d -> b h i j", q, k) * self.scale
        out = einsum("b h i j, b h j d -> b h i d", dots.softmax(dim=-1), v)
        return self.to_out(rearrange(out, "b h t d -> b t (h d)"))
