"""Heads keep an axis of their own and einsum does the rest; folding exists only because it was asked for."""
from torch import einsum, nn


def fold_heads(x, num_heads):
    b, t, _ = x.shape
    return x.reshape(b, t, num_heads, -1).permute(0, 2, 1, 3).reshape(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    _, t, d = x.shape
    return x.reshape(-1, num_heads, t, d).permute(0, 2, 1, 3).reshape(-1, t, num_heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            head_dim, rest = divmod(embed_dim, num_heads)
            if rest:
                raise ValueError(f"{embed_dim} channels cannot be shared by {num_heads} heads")
        self.num_heads = num_heads
        self.scale = head_dim**-0.5
        inner = num_heads * head_dim
        self.to_queries = nn.Linear(embed_dim, inner, bias=bias)
        self.to_keys = nn.Linear(embed_dim, inner, bias=bias)
        self.to_values = nn.Linear(embed_dim, inner, bias=bias)
        self.unify_heads = nn.Linear(inner, embed_dim)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (
            layer(x).view(b, t, self.num_heads, -1) for layer in (self.to_queries, self.to_keys, self.to_values)
        )
        weights = einsum("bqhd,bkhd->bhqk", q, k).mul(self.scale).softmax(dim=-1)
        merged = einsum("bhqk,bkhd->bqhd", weights, v).flatten(2)
        return self.unify_heads(merged)
