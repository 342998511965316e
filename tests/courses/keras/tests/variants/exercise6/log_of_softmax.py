"""The logarithm of a softmax."""

import keras
from keras import layers, ops


class Classifier(layers.Layer):
    def __init__(self, encoder, vocab_size, units, max_len, num_classes, **kwargs):
        super().__init__(**kwargs)
        self.words = layers.Embedding(vocab_size, units)
        self.positions = layers.Embedding(max_len, units)
        self.encoder = encoder
        self.head = layers.Dense(num_classes, activation="softmax")

    def call(self, tokens):
        t = tokens.shape[-1]
        if t > self.positions.input_dim:
            raise ValueError(f"at most {self.positions.input_dim} tokens")
        x = self.words(tokens)
        x = x + self.positions(ops.arange(t))[None]
        return ops.log(self.head(ops.mean(self.encoder(x), axis=-2)))
