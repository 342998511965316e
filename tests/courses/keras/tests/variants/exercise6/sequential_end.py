"""The end is a Sequential."""

import keras
from keras import layers, ops


class Classifier(layers.Layer):
    def __init__(self, encoder, vocab_size, units, max_len, num_classes):
        super().__init__()
        self.max_len = max_len
        self.token_embedding = layers.Embedding(vocab_size, units)
        self.position_embedding = layers.Embedding(max_len, units)
        self.encoder = encoder
        self.end = keras.Sequential(
            [layers.GlobalAveragePooling1D(), layers.Dense(num_classes), layers.Activation("log_softmax")]
        )

    def call(self, tokens, training=None):
        positions = ops.arange(ops.shape(tokens)[1])
        if len(positions) > self.max_len:
            raise ValueError("too long")
        x = layers.add([self.token_embedding(tokens), self.position_embedding(positions) + 0 * self.token_embedding(tokens)])
        return self.end(self.encoder(x), training=training)
