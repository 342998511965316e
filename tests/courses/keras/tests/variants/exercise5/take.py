"""Rows by ops.take."""

import keras
from keras import layers, ops


class PositionEmbedding(layers.Layer):
    def __init__(self, max_len, **kwargs):
        super().__init__(**kwargs)
        self.max_len = max_len

    def build(self, shape):
        self.embeddings = self.add_weight(shape=(self.max_len, shape[-1]), name="embeddings")

    def call(self, inputs):
        if inputs.shape[1] > self.max_len:
            raise ValueError("too long")
        rows = ops.arange(0, inputs.shape[1], 1, dtype="int32")
        return inputs + ops.expand_dims(ops.take(self.embeddings, rows, axis=0), 0)
