"""GlobalAveragePooling1D and a softmax in the layer."""

import keras
from keras import layers, ops


class Classifier(keras.Model):
    def __init__(self, encoder, vocab_size, units, max_len, num_classes):
        super().__init__()
        self.token_emb = layers.Embedding(vocab_size, units)
        self.pos_emb = layers.Embedding(max_len, units)
        self.encoder = encoder
        self.pool = layers.GlobalAveragePooling1D()
        self.classifier = layers.Dense(num_classes, activation="log_softmax")
        self.max_len = max_len

    def call(self, tokens, training=None):
        length = tokens.shape[1]
        if length > self.max_len:
            raise ValueError("too long")
        x = self.token_emb(tokens) + self.pos_emb(ops.arange(length))
        return self.classifier(self.pool(self.encoder(x)))
