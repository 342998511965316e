"""Mixed-precision habit: the softmax always runs in float32 and is cast back afterwards."""
# loses: property/dtype
import math

import torch
import torch.nn.functional as F


def _softmax32(scores: torch.Tensor) -> torch.Tensor:
    return F.softmax(scores, dim=-1, dtype=torch.float32).to(scores.dtype)


def self_attention(x):
    return _softmax32(x @ x.transpose(-2, -1)) @ x


def attention_weights(query, key, scale=None):
    scale = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    return _softmax32(query @ key.transpose(-2, -1) * scale)


def scaled_dot_product_attention(query, key, value, scale=None):
    return attention_weights(query, key, scale) @ value
