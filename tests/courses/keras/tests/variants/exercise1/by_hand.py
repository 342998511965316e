"""A softmax by hand, with the largest score subtracted."""

import math

from keras import ops


def scaled_dot_product_attention(query, key, value):
    scores = query @ ops.moveaxis(key, 1, 2) / math.sqrt(query.shape[2])
    powers = ops.exp(scores - ops.max(scores, axis=-1, keepdims=True))
    return (powers / ops.sum(powers, axis=-1, keepdims=True)) @ value
