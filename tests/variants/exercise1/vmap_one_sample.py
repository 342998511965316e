"""Functions for a single unbatched sample, lifted over the batch by torch.vmap."""
import torch
from torch import Tensor


def _one_weights(q: Tensor, k: Tensor, scale: float) -> Tensor:
    return torch.softmax(q @ k.T * scale, dim=-1)


def attention_weights(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    s = query.shape[-1] ** -0.5 if scale is None else scale
    return torch.vmap(lambda q, k: _one_weights(q, k, s))(query, key)


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None) -> Tensor:
    s = query.shape[-1] ** -0.5 if scale is None else scale

    def one(q, k, v):
        return _one_weights(q, k, s) @ v

    return torch.vmap(one)(query, key, value)


def self_attention(x: Tensor) -> Tensor:
    return torch.vmap(lambda s: _one_weights(s, s, 1.0) @ s)(x)
