"""A table of its own."""

import keras
from keras import layers, ops


class PositionEmbedding(layers.Layer):
    def __init__(self, max_len, **kwargs):
        super().__init__(**kwargs)
        self.max_len = max_len

    def build(self, shape):
        self.table = self.add_weight(shape=(self.max_len, shape[-1]), initializer="uniform", name="table")

    def call(self, inputs):
        if inputs.shape[1] > self.max_len:
            raise ValueError("too long")
        return inputs + self.table[: inputs.shape[1]]
