"""Parameters in a dict, which registers them by name: bk, bo, bq, bv, wk, wo, wq, wv."""

import torch
from torch import nn, Tensor
from typing import Mapping


def fold_heads(x: Tensor, num_heads: int) -> Tensor:
    return torch.einsum("bthd->bhtd", x.reshape(*x.shape[:2], num_heads, -1)).reshape(
        -1, x.shape[1], x.shape[2] // num_heads
    )


def unfold_heads(x: Tensor, num_heads: int) -> Tensor:
    return torch.einsum("bhtd->bthd", x.reshape(-1, num_heads, *x.shape[1:])).reshape(
        -1, x.shape[1], num_heads * x.shape[2]
    )


def init(embed_dim: int, heads: int, d: int, bias: bool) -> dict[str, Tensor]:
    p = {f"w{n}": torch.randn(embed_dim, heads, d) * embed_dim**-0.5 for n in "qkv"}
    if bias:
        p |= {f"b{n}": torch.zeros(heads, d) for n in "qkv"}
    return p | {
        "wo": torch.randn(heads, d, embed_dim) * (heads * d) ** -0.5,
        "bo": torch.zeros(embed_dim),
    }


def apply(params: Mapping[str, Tensor], x: Tensor) -> Tensor:
    q, k, v = (
        torch.einsum("btk,khd->bthd", x, params[f"w{n}"])
        + (params[f"b{n}"] if f"b{n}" in params else 0.0)
        for n in "qkv"
    )
    logits = torch.einsum("bthd,bshd->bhts", q, k) / q.shape[-1] ** 0.5
    return (
        torch.einsum("bhts,bshd,hdk->btk", torch.softmax(logits, -1), v, params["wo"])
        + params["bo"]
    )


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads:
                raise ValueError(f"{num_heads} does not divide {embed_dim}")
            head_dim = embed_dim // num_heads
        self.params = nn.ParameterDict(init(embed_dim, num_heads, head_dim, bias))

    def forward(self, x):
        return apply(self.params, x)
