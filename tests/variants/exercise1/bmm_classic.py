"""Tutorial style: torch.bmm, F.softmax over dim 2, and every function written out."""
import math

import torch
import torch.nn.functional as F


def self_attention(x):
    raw_weights = torch.bmm(x, x.transpose(1, 2))
    # - raw_weights has shape (b, t, t)
    weights = F.softmax(raw_weights, dim=2)
    return torch.bmm(weights, x)


def attention_weights(query, key, scale=None):
    d = query.size(-1)
    if scale is None:
        scale = 1 / math.sqrt(d)
    dot = torch.bmm(query, key.transpose(1, 2))
    dot = dot * scale
    return F.softmax(dot, dim=2)


def scaled_dot_product_attention(query, key, value, scale=None):
    weights = attention_weights(query, key, scale)
    return torch.bmm(weights, value)
