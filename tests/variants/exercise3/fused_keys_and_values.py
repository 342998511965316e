"""to_q alone and to_kv fused, as in code that serves cross-attention too; axes renamed by hand."""
import torch
from torch import nn


def rearrange_heads(x, h):
    b, n, hd = x.shape
    return x.reshape(b, n, h, hd // h).permute(0, 2, 1, 3)


def fold_heads(x, num_heads):
    return rearrange_heads(x, num_heads).reshape(x.size(0) * num_heads, x.size(1), -1)


def unfold_heads(x, num_heads):
    bh, n, d = x.shape
    return x.reshape(-1, num_heads, n, d).permute(0, 2, 1, 3).reshape(-1, n, num_heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("embed_dim must be divisible by num_heads")
            head_dim = embed_dim // num_heads
        inner_dim = head_dim * num_heads
        self.heads = num_heads
        self.scale = head_dim**-0.5
        self.to_q = nn.Linear(embed_dim, inner_dim, bias=bias)
        self.to_kv = nn.Linear(embed_dim, inner_dim * 2, bias=bias)
        self.to_out = nn.Sequential(nn.Linear(inner_dim, embed_dim))

    def forward(self, x, context=None):
        context = x if context is None else context
        q, k, v = self.to_q(x), *self.to_kv(context).chunk(2, dim=-1)
        q, k, v = (rearrange_heads(y, self.heads) for y in (q, k, v))
        sim = torch.einsum("b h i d, b h j d -> b h i j", q, k) * self.scale
        out = torch.einsum("b h i j, b h j d -> b h i d", sim.softmax(dim=-1), v)
        return self.to_out(out.permute(0, 2, 1, 3).flatten(2))
