"""EinsumDense for both layers."""

import keras
from keras import layers, ops


class FeedForward(layers.Layer):
    def __init__(self, hidden_units, *, rate=0.0, activation="relu"):
        super().__init__()
        if activation not in ("relu", "gelu"):
            raise ValueError(activation)
        self.inner = layers.EinsumDense("btk,kf->btf", (None, hidden_units), bias_axes="f", activation=activation)
        self.rate = rate

    def build(self, shape):
        self.outer = layers.EinsumDense("btf,fk->btk", (None, shape[-1]), bias_axes="k")
        self.dropout = layers.Dropout(self.rate)

    def call(self, inputs, training=None):
        return self.dropout(self.outer(self.inner(inputs)), training=training)
