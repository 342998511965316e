"""Heads are layers of their own."""

import keras
from exercise1_attention import scaled_dot_product_attention
from keras import layers, ops


class Head(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.query = layers.Dense(units, use_bias=False)
        self.key = layers.Dense(units, use_bias=False)
        self.value = layers.Dense(units, use_bias=False)

    def call(self, x):
        return scaled_dot_product_attention(self.query(x), self.key(x), self.value(x))


class SelfAttention(layers.Layer):
    def __init__(self, heads, *, head_units=None):
        super().__init__()
        self.count, self.units = heads, head_units

    def build(self, shape):
        self.heads = [Head(self.units or shape[-1]) for _ in range(self.count)]
        self.unify = layers.Dense(shape[-1])

    def call(self, inputs):
        return self.unify(ops.concatenate([head(inputs) for head in self.heads], axis=-1))
