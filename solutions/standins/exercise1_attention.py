"""Stand-in for exercise 1, made of torch's own functions."""

import torch
import torch.nn.functional as F
from torch import Tensor


def self_attention(x: Tensor) -> Tensor:
    """Attend within x, unscaled."""
    return F.scaled_dot_product_attention(x, x, x, scale=1.0)


def attention_weights(query: Tensor, key: Tensor, scale: float | None = None) -> Tensor:
    """Return the weights (b, q, s)."""
    identity = torch.eye(key.size(1), dtype=key.dtype, device=key.device)
    return F.scaled_dot_product_attention(
        query, key, identity.expand(key.size(0), -1, -1), scale=scale
    )


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, scale: float | None = None
) -> Tensor:
    """Attend from query to key and value."""
    return F.scaled_dot_product_attention(query, key, value, scale=scale)
