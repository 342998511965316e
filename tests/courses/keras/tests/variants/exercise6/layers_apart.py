"""Embeddings in a layer of their own."""

import keras
from keras import layers, ops


class Embed(layers.Layer):
    def __init__(self, vocab_size, units, max_len):
        super().__init__()
        self.max_len = max_len
        self.token = layers.Embedding(vocab_size, units)
        self.position = layers.Embedding(max_len, units)

    def call(self, tokens):
        t = ops.shape(tokens)[1]
        if t > self.max_len:
            raise ValueError("too long")
        return self.token(tokens) + self.position(ops.arange(t))


class Classifier(layers.Layer):
    def __init__(self, encoder, vocab_size, units, max_len, num_classes):
        super().__init__()
        self.embed = Embed(vocab_size, units, max_len)
        self.encoder = encoder
        self.out = layers.Dense(num_classes)

    def call(self, tokens):
        return keras.activations.log_softmax(self.out(ops.mean(self.encoder(self.embed(tokens)), 1)))
