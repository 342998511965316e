"""One layer for each head, in Python lists."""

import keras
from exercise1_attention import scaled_dot_product_attention
from keras import layers, ops


class SelfAttention(layers.Layer):
    def __init__(self, heads, *, head_units=None, **kwargs):
        super().__init__(**kwargs)
        self.heads = heads
        self.head_units = head_units

    def build(self, input_shape):
        k = input_shape[-1]
        d = self.head_units or k
        self.queries = [layers.Dense(d, use_bias=False) for _ in range(self.heads)]
        self.keys = [layers.Dense(d, use_bias=False) for _ in range(self.heads)]
        self.values = [layers.Dense(d, use_bias=False) for _ in range(self.heads)]
        self.unify_heads = layers.Dense(k)

    def call(self, inputs):
        found = [
            scaled_dot_product_attention(q(inputs), k(inputs), v(inputs))
            for q, k, v in zip(self.queries, self.keys, self.values)
        ]
        return self.unify_heads(ops.concatenate(found, axis=-1))
