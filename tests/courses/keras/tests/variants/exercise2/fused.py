"""One layer for queries, keys and values."""

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
        self.d = self.head_units or k
        self.qkv = layers.Dense(3 * self.heads * self.d, use_bias=False)
        self.unify_heads = layers.Dense(k)

    def call(self, inputs):
        b, t, _ = ops.shape(inputs)
        parts = ops.split(self.qkv(inputs), 3, axis=-1)
        q, k, v = (ops.transpose(ops.reshape(p, (b, t, self.heads, self.d)), (0, 2, 1, 3)) for p in parts)
        weights = ops.softmax(ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) / self.d**0.5, axis=-1)
        mixed = ops.reshape(ops.transpose(ops.matmul(weights, v), (0, 2, 1, 3)), (b, t, self.heads * self.d))
        return self.unify_heads(mixed)
