"""Keeps the weights of the last call for a plot, on the module and in a list."""

from torch import nn


def fold_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).movedim(2, 1).flatten(0, 1)


def unfold_heads(x, num_heads):
    return x.unflatten(0, (-1, num_heads)).movedim(1, 2).flatten(2)


class DotProduct(nn.Module):
    def forward(self, queries, keys, values):
        scores = queries @ keys.mT / queries.size(-1) ** 0.5
        self.weights = scores.softmax(dim=-1)
        return self.weights @ values


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads:
            raise ValueError(f"{embed_dim} is no multiple of {num_heads}")
        inner = num_heads * (head_dim or embed_dim // num_heads)
        self.num_heads, self.attend, self.attn = num_heads, DotProduct(), []
        self.W_q = nn.Linear(embed_dim, inner, bias=bias)
        self.W_k = nn.Linear(embed_dim, inner, bias=bias)
        self.W_v = nn.Linear(embed_dim, inner, bias=bias)
        self.W_o = nn.Linear(inner, embed_dim)

    def forward(self, x):
        folded = [fold_heads(layer(x), self.num_heads) for layer in (self.W_q, self.W_k, self.W_v)]
        mixed = self.attend(*folded)
        self.attn = [self.attend.weights.detach()]
        return self.W_o(unfold_heads(mixed, self.num_heads))
