"""Everything as torch.einsum, with typed keyword-only scale."""
from typing import Optional

from torch import Tensor, einsum


def self_attention(x: Tensor) -> Tensor:
    scores = einsum("bik,bjk->bij", x, x)
    return einsum("bij,bjk->bik", scores.softmax(dim=-1), x)


def attention_weights(query: Tensor, key: Tensor, *, scale: Optional[float] = None) -> Tensor:
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    return (factor * einsum("bqd,bkd->bqk", query, key)).softmax(dim=-1)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, *, scale: Optional[float] = None
) -> Tensor:
    w = attention_weights(query, key, scale=scale)
    return einsum("bqk,bkv->bqv", w, value)
