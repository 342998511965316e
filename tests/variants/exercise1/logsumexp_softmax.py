"""Weights as exp(scores - logsumexp(scores)), the scale through rsqrt of a 0-dim tensor."""
from typing import Union

import torch
from torch import Tensor


def _default_scale(query: Tensor) -> Tensor:
    return query.new_tensor(float(query.shape[-1])).rsqrt()


def _normalise(scores: Tensor) -> Tensor:
    return torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))


def attention_weights(query: Tensor, key: Tensor, *, scale: Union[float, None] = None) -> Tensor:
    s = _default_scale(query) if scale is None else scale
    return _normalise(s * (query @ key.transpose(1, 2)))


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, *, scale: Union[float, None] = None
) -> Tensor:
    return attention_weights(query, key, scale=scale) @ value


def self_attention(x: Tensor) -> Tensor:
    return _normalise(x @ x.transpose(1, 2)) @ x
