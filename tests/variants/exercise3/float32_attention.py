"""Projects in the input's dtype but runs the whole attention in float32, then casts back."""
# loses: property/dtype
import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t, hd = x.size()
    return x.reshape(b, t, num_heads, hd // num_heads).transpose(1, 2).reshape(b * num_heads, t, hd // num_heads)


def unfold_heads(x, num_heads):
    bh, t, d = x.size()
    return x.reshape(bh // num_heads, num_heads, t, d).transpose(1, 2).reshape(bh // num_heads, t, num_heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("embed_dim should be divisible by num_heads")
            head_dim = embed_dim // num_heads
        self.num_heads = num_heads
        self.qkv = nn.Linear(embed_dim, 3 * num_heads * head_dim, bias=bias)
        self.unify_heads = nn.Linear(num_heads * head_dim, embed_dim)

    def forward(self, x):
        q, k, v = [fold_heads(part.float(), self.num_heads) for part in self.qkv(x).chunk(3, dim=-1)]
        weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5, dim=-1)
        mixed = unfold_heads(torch.bmm(weights, v), self.num_heads)
        return self.unify_heads(mixed.type_as(x))
