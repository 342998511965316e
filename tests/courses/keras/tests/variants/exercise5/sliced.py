"""The embedding's own table, sliced."""

import keras
from keras import layers, ops


class PositionEmbedding(layers.Layer):
    def __init__(self, max_len, **kwargs):
        super().__init__(**kwargs)
        self.max_len = max_len

    def build(self, shape):
        self.pos_emb = layers.Embedding(input_dim=self.max_len, output_dim=shape[-1])
        self.pos_emb.build(None)

    def call(self, inputs):
        if inputs.shape[1] > self.max_len:
            raise ValueError("too long")
        return inputs + ops.convert_to_tensor(self.pos_emb.embeddings)[: inputs.shape[1]]
