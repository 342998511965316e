"""Positions and the last layer by add_weight."""

import keras
from keras import layers, ops


class Classifier(layers.Layer):
    def __init__(self, encoder, vocab_size, units, max_len, num_classes):
        super().__init__()
        self.encoder, self.max_len = encoder, max_len
        self.token_embedding = layers.Embedding(vocab_size, units)
        self.position_embedding = self.add_weight(shape=(max_len, units), name="positions")
        self.logits_kernel = self.add_weight(shape=(units, num_classes), name="kernel")
        self.logits_bias = self.add_weight(shape=(num_classes,), initializer="zeros", name="bias")

    def call(self, tokens):
        b, t = ops.shape(tokens)
        if t > self.max_len:
            raise ValueError("too long")
        x = self.encoder(self.token_embedding(tokens) + self.position_embedding[:t])
        logits = ops.matmul(ops.sum(x, axis=1) / t, self.logits_kernel) + self.logits_bias
        return logits - ops.logsumexp(logits, axis=-1, keepdims=True)
