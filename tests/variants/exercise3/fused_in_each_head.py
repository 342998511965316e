"""A head is a module with one layer for all three parts, keys first; they stand in a list."""
import torch
import torch.nn as nn


def fold_heads(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=2), dim=1).flatten(0, 1)


def unfold_heads(x, num_heads):
    return torch.cat(x.unflatten(0, (-1, num_heads)).unbind(1), dim=2)


class OneHead(nn.Module):
    def __init__(self, dim_in, dim_head, bias):
        super().__init__()
        self.scale = dim_head ** -0.5
        self.kqv = nn.Linear(dim_in, 3 * dim_head, bias=bias)

    def forward(self, x):
        k, q, v = self.kqv(x).chunk(3, dim=-1)
        return (q @ k.mT * self.scale).softmax(dim=-1) @ v


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            head_dim, left = divmod(embed_dim, num_heads)
            if left:
                raise ValueError("heads of unequal width")
        self.hs = nn.ModuleList(OneHead(embed_dim, head_dim, bias) for _ in range(num_heads))
        self.mix = nn.Linear(head_dim * num_heads, embed_dim)

    def forward(self, x):
        return self.mix(torch.cat([one(x) for one in self.hs], dim=-1))
