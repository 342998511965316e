"""A table with an axis for the batch."""

import keras
from keras import layers, ops


class PositionEmbedding(layers.Layer):
    def __init__(self, max_len, **kwargs):
        super().__init__(**kwargs)
        self.max_len = max_len

    def build(self, shape):
        self.positions = self.add_weight(shape=(1, self.max_len, shape[-1]), name="positions")

    def call(self, inputs):
        t = ops.shape(inputs)[1]
        if t > self.max_len:
            raise ValueError(f"{t} > {self.max_len}")
        return ops.add(inputs, self.positions[:, :t, :])
