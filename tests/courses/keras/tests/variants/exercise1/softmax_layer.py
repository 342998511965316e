"""A softmax that is a layer."""

import keras
from keras import ops


def scaled_dot_product_attention(query, key, value):
    d = query.shape[-1]
    return ops.matmul(keras.layers.Softmax(axis=2)(ops.matmul(query, ops.transpose(key, (0, 2, 1))) / d**0.5), value)
