"""torch.vmap maps a single head over the heads' axis."""
import torch
from torch import nn


def fold_heads(x, num_heads):
    return torch.stack(x.tensor_split(num_heads, dim=2), dim=1).flatten(0, 1)


def unfold_heads(x, num_heads):
    return torch.cat(x.unflatten(0, (-1, num_heads)).unbind(1), dim=-1)


def one_head(q, k, v):
    return (q @ k.mT / q.size(-1) ** 0.5).softmax(-1) @ v


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("embed_dim must be divisible by num_heads")
            head_dim = embed_dim // num_heads
        self.h = num_heads
        self.keys = nn.Linear(embed_dim, num_heads * head_dim, bias=bias)
        self.queries = nn.Linear(embed_dim, num_heads * head_dim, bias=bias)
        self.values = nn.Linear(embed_dim, num_heads * head_dim, bias=bias)
        self.combine = nn.Linear(num_heads * head_dim, embed_dim)

    def forward(self, x):
        parts = [f(x).unflatten(2, (self.h, -1)) for f in (self.queries, self.keys, self.values)]
        return self.combine(torch.vmap(one_head, in_dims=2, out_dims=2)(*parts).flatten(2))
