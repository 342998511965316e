"""Convolutions of width one."""

import keras
from keras import layers, ops


class FeedForward(layers.Layer):
    def __init__(self, hidden_units, *, rate=0.0, activation="relu"):
        super().__init__()
        if activation not in ("relu", "gelu"):
            raise ValueError(activation)
        self.first = layers.Conv1D(hidden_units, 1, activation=activation)
        self.dropout = layers.Dropout(rate)

    def build(self, shape):
        self.second = layers.Conv1D(shape[-1], 1)

    def call(self, inputs, training=None):
        return self.dropout(self.second(self.first(inputs)), training=training)
