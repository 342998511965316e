"""Builds on exercises 1 and 2: a wide QKVProjection, folded heads, and the imported attention function."""
from exercise1_attention import scaled_dot_product_attention
from exercise2_qkv_projection import QKVProjection
from torch import nn


def fold_heads(x, num_heads):
    b, t, hd = x.shape
    x = x.reshape(b, t, num_heads, hd // num_heads)
    return x.permute(0, 2, 1, 3).reshape(b * num_heads, t, hd // num_heads)


def unfold_heads(x, num_heads):
    bh, t, d = x.shape
    x = x.reshape(bh // num_heads, num_heads, t, d)
    return x.permute(0, 2, 1, 3).reshape(bh // num_heads, t, num_heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError(f"embed_dim ({embed_dim}) is not divisible by num_heads ({num_heads})")
            head_dim = embed_dim // num_heads
        self.num_heads = num_heads
        self.projection = QKVProjection(embed_dim, num_heads * head_dim, bias=bias)
        self.unify_heads = nn.Linear(num_heads * head_dim, embed_dim)

    def forward(self, x):
        folded = [fold_heads(part, self.num_heads) for part in self.projection(x)]
        attended = scaled_dot_product_attention(*folded)
        return self.unify_heads(unfold_heads(attended, self.num_heads))
