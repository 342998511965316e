"""A layer norm of its own."""

import keras
from keras import layers, ops


class Norm(layers.Layer):
    def build(self, shape):
        self.gamma = self.add_weight(shape=(shape[-1],), initializer="ones", name="gamma")
        self.beta = self.add_weight(shape=(shape[-1],), initializer="zeros", name="beta")

    def call(self, x):
        mean = ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(x - mean), axis=-1, keepdims=True)
        return (x - mean) / ops.sqrt(variance + 1e-5) * self.gamma + self.beta


class EncoderLayer(layers.Layer):
    def __init__(self, attention, feed_forward, *, norm_first=False, rate=0.0):
        super().__init__()
        self.attn, self.ffn, self.first = attention, feed_forward, norm_first
        self.norm1, self.norm2, self.dropout = Norm(), Norm(), layers.Dropout(rate)

    def call(self, x, training=None):
        def step(x, norm, inner):
            if self.first:
                return x + self.dropout(inner(norm(x)), training=training)
            return norm(x + self.dropout(inner(x), training=training))

        return step(step(x, self.norm1, self.attn), self.norm2, self.ffn)
