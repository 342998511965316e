import math

import torch


def self_attention(x):
    scores = x @ x.transpose(1, 2)
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    weights = e / e.sum(dim=-1).unsqueeze(1)
    return weights @ x


def attention_weights(query, key, *, scale=None):
    factor = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    return torch.softmax(query @ key.transpose(1, 2) * factor, dim=-1)


def scaled_dot_product_attention(query, key, value, *, scale=None):
    return attention_weights(query, key, scale=scale) @ value
