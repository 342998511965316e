"""Short functions with the @ operator and .mT, each built on the one before."""
from __future__ import annotations

import torch


def attention_weights(query: torch.Tensor, key: torch.Tensor, *, scale: float | None = None) -> torch.Tensor:
    if scale is None:
        scale = 1.0 / query.shape[-1] ** 0.5
    return torch.softmax(query @ key.mT * scale, dim=-1)


def scaled_dot_product_attention(query, key, value, *, scale: float | None = None) -> torch.Tensor:
    return attention_weights(query, key, scale=scale) @ value


def self_attention(x: torch.Tensor) -> torch.Tensor:
    # the same thing with nothing projected and nothing scaled
    return scaled_dot_product_attention(x, x, x, scale=1.0)


if __name__ == "__main__":
    sample = torch.randn(2, 5, 3)
    assert self_attention(sample).shape == sample.shape
