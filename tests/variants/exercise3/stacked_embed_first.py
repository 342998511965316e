"""JAX flavour: raw (k, h, d) kernels and (h, d) biases, tensordot for the projection."""
import torch
from torch import nn


def fold_heads(x, num_heads):
    split = x.reshape(*x.shape[:2], num_heads, x.shape[2] // num_heads)
    moved = torch.movedim(split, 2, 1)
    return moved.reshape(-1, *moved.shape[2:])


def unfold_heads(x, num_heads):
    split = x.reshape(x.shape[0] // num_heads, num_heads, *x.shape[1:])
    moved = torch.movedim(split, 1, 2)
    return moved.reshape(*moved.shape[:2], -1)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("num_heads has to divide embed_dim")
            head_dim = embed_dim // num_heads
        self.num_heads = num_heads
        self.head_dim = head_dim
        for role in "query", "key", "value":
            kernel = nn.init.normal_(torch.empty(embed_dim, num_heads, head_dim), std=embed_dim**-0.5)
            self.register_parameter(f"{role}_kernel", nn.Parameter(kernel))
            self.register_parameter(
                f"{role}_bias", nn.Parameter(torch.zeros(num_heads, head_dim)) if bias else None
            )
        self.out = nn.Linear(num_heads * head_dim, embed_dim)

    def _project(self, x, role):
        y = torch.tensordot(x, getattr(self, f"{role}_kernel"), dims=1)  # (b, t, h, d)
        bias = getattr(self, f"{role}_bias")
        return y if bias is None else y + bias

    def forward(self, x):
        q, k, v = (self._project(x, role) for role in ("query", "key", "value"))
        logits = torch.einsum("bthd,bshd->bhts", q, k) / self.head_dim**0.5
        weights = torch.exp(logits - torch.logsumexp(logits, -1, keepdim=True))
        y = torch.einsum("bhts,bshd->bthd", weights, v)
        return self.out(y.reshape(x.shape[0], x.shape[1], -1))
