"""Axes exchanged by swapaxes, the queries scaled."""

import keras
from keras import ops


def scaled_dot_product_attention(query, key, value):
    query = query * query.shape[-1] ** -0.5
    weights = keras.activations.softmax(ops.matmul(query, ops.swapaxes(key, 1, 2)))
    return ops.matmul(weights, value)
