"""Four axes from end to end, no folding."""

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
        self.query, self.key, self.value = (layers.Dense(self.heads * self.d, use_bias=False) for _ in range(3))
        self.out = layers.Dense(k)

    def split(self, x):
        return ops.transpose(ops.reshape(x, (x.shape[0], x.shape[1], self.heads, self.d)), (0, 2, 1, 3))

    def call(self, inputs):
        q, k, v = (self.split(f(inputs)) for f in (self.query, self.key, self.value))
        weights = ops.softmax(ops.matmul(q, ops.swapaxes(k, -1, -2)) / self.d**0.5)
        mixed = ops.transpose(ops.matmul(weights, v), (0, 2, 1, 3))
        return self.out(ops.reshape(mixed, (inputs.shape[0], inputs.shape[1], self.heads * self.d)))
