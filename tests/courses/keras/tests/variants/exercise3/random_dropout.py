"""Dropout by keras.random with a seed generator."""

import keras
from keras import layers, ops


class FeedForward(layers.Layer):
    def __init__(self, hidden_units, *, rate=0.0, activation="relu"):
        super().__init__()
        if activation not in ("relu", "gelu"):
            raise ValueError(activation)
        self.rate = rate
        self.seeds = keras.random.SeedGenerator(1)
        self.up = layers.Dense(hidden_units, activation)

    def build(self, shape):
        self.down = layers.Dense(shape[-1])

    def call(self, inputs, training=False):
        out = self.down(self.up(inputs))
        if training and self.rate > 0:
            out = keras.random.dropout(out, self.rate, seed=self.seeds)
        return out
