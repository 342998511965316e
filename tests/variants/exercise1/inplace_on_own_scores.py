"""In-place arithmetic, but only on the scores that the function has made itself."""
import numpy as np
import torch


def attention_weights(query, key, scale=None):
    scores = query.bmm(key.transpose(2, 1))
    if scale is None:
        scores /= float(np.sqrt(query.shape[-1]))
    else:
        scores *= scale
    return scores.softmax(dim=2)


def scaled_dot_product_attention(query, key, value, scale=None):
    out = query.new_empty(query.shape[0], query.shape[1], value.shape[2])
    out[...] = attention_weights(query, key, scale).bmm(value)
    return out


def self_attention(x):
    scores = x.bmm(x.transpose(2, 1))
    weights = torch.softmax(scores, dim=2)
    return weights.bmm(x)
