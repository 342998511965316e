"""Layers in __init__, and what depends on the width in build."""

import keras
from exercise1_attention import scaled_dot_product_attention
from keras import layers, ops


@keras.saving.register_keras_serializable()
class SelfAttention(keras.Layer):
    def __init__(self, heads, head_units=None, name=None):
        super().__init__(name=name)
        self.heads = heads
        self.head_units = head_units
        self.reshaped = None

    def build(self, shape):
        width = shape[-1] if self.head_units is None else self.head_units
        self.sizes = (self.heads, width)
        self.wq = layers.Dense(self.heads * width, use_bias=False, name="q")
        self.wk = layers.Dense(self.heads * width, use_bias=False, name="k")
        self.wv = layers.Dense(self.heads * width, use_bias=False, name="v")
        self.wo = layers.Dense(shape[-1], name="o")
        for layer in (self.wq, self.wk, self.wv):
            layer.build(shape)
        self.wo.build((*shape[:-1], self.heads * width))
        self.built = True

    def call(self, inputs, training=None, mask=None):
        h, d = self.sizes
        q, k, v = (ops.reshape(w(inputs), (*inputs.shape[:2], h, d)) for w in (self.wq, self.wk, self.wv))
        scores = ops.einsum("bqhd,bshd->bhqs", q, k) * d**-0.5
        out = ops.einsum("bhqs,bshd->bqhd", ops.softmax(scores, axis=-1), v)
        return self.wo(ops.reshape(out, (*inputs.shape[:2], h * d)))

    def get_config(self):
        return {"heads": self.heads, "head_units": self.head_units}
