"""A small rearrange of one's own names the axes, as einops would."""
import math

import torch


def rearrange(x, pattern):
    before, after = (side.split() for side in pattern.split("->"))
    return x.permute([before.index(axis) for axis in after])


def softmax(scores):
    top, _ = scores.max(dim=-1, keepdim=True)
    grown = torch.exp(scores - top)
    return grown / grown.sum(dim=-1, keepdim=True)


def self_attention(x):
    return softmax(x @ rearrange(x, "b t k -> b k t")) @ x


def attention_weights(query, key, scale=None):
    if scale is None:
        scale = 1 / math.sqrt(key.shape[-1])
    return softmax(query @ rearrange(key, "b s d -> b d s") * scale)


def scaled_dot_product_attention(query, key, value, scale=None):
    return attention_weights(query, key, scale) @ value
