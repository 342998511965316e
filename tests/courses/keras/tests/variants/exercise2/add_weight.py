"""Weights of its own, by add_weight."""

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
        width = self.heads * self.d
        self.w_query = self.add_weight(shape=(k, width), name="w_query")
        self.w_key = self.add_weight(shape=(k, width), name="w_key")
        self.w_value = self.add_weight(shape=(k, width), name="w_value")
        self.w_out = self.add_weight(shape=(width, k), name="w_out")
        self.b_out = self.add_weight(shape=(k,), initializer="zeros", name="b_out")

    def call(self, inputs):
        b, t, _ = ops.shape(inputs)

        def fold(w):
            x = ops.reshape(ops.matmul(inputs, w), (b, t, self.heads, self.d))
            return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (b * self.heads, t, self.d))

        out = scaled_dot_product_attention(fold(self.w_query), fold(self.w_key), fold(self.w_value))
        out = ops.transpose(ops.reshape(out, (b, self.heads, t, self.d)), (0, 2, 1, 3))
        return ops.matmul(ops.reshape(out, (b, t, -1)), self.w_out) + self.b_out
