"""Positions for each sample."""

import keras
from keras import layers, ops


class PositionEmbedding(layers.Layer):
    def __init__(self, max_len, **kwargs):
        super().__init__(**kwargs)
        self.max_len = max_len

    def build(self, input_shape):
        self.embedding = layers.Embedding(self.max_len, input_shape[2])

    def call(self, inputs):
        b, t, _ = inputs.shape
        if not t <= self.max_len:
            raise ValueError("too long")
        positions = ops.broadcast_to(ops.arange(t)[None, :], (b, t))
        return layers.Add()([inputs, self.embedding(positions)])
