"""Projections by EinsumDense, one kernel for each part."""

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
        d = self.d = self.head_units or k
        self.query = layers.EinsumDense("btk,khd->bthd", (None, self.heads, d))
        self.key = layers.EinsumDense("btk,khd->bthd", (None, self.heads, d))
        self.value = layers.EinsumDense("btk,khd->bthd", (None, self.heads, d))
        self.output_dense = layers.EinsumDense("bthd,hdk->btk", (None, k), bias_axes="k")

    def call(self, inputs):
        scores = ops.einsum("bqhd,bshd->bhqs", self.query(inputs), self.key(inputs)) / self.d**0.5
        mixed = ops.einsum("bhqs,bshd->bqhd", ops.softmax(scores, axis=-1), self.value(inputs))
        return self.output_dense(mixed)
