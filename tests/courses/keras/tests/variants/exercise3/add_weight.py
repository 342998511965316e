"""Weights of its own."""

import keras
from keras import layers, ops


class FeedForward(layers.Layer):
    def __init__(self, hidden_units, *, rate=0.0, activation="relu"):
        super().__init__()
        functions = {"relu": keras.activations.relu, "gelu": keras.activations.gelu}
        if activation not in functions:
            raise ValueError(f"unknown: {activation}")
        self.function = functions[activation]
        self.hidden_units = hidden_units
        self.dropout = layers.Dropout(rate)

    def build(self, shape):
        k = shape[-1]
        self.w1 = self.add_weight(shape=(k, self.hidden_units), name="w1")
        self.b1 = self.add_weight(shape=(self.hidden_units,), initializer="zeros", name="b1")
        self.w2 = self.add_weight(shape=(self.hidden_units, k), name="w2")
        self.b2 = self.add_weight(shape=(k,), initializer="zeros", name="b2")

    def call(self, x, training=None):
        hidden = self.function(ops.matmul(x, self.w1) + self.b1)
        return self.dropout(ops.matmul(hidden, self.w2) + self.b2, training=training)
