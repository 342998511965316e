"""A Sequential inside."""

import keras
from keras import layers, ops


class FeedForward(layers.Layer):
    def __init__(self, hidden_units, *, rate=0.0, activation="relu"):
        super().__init__()
        if activation != "relu" and activation != "gelu":
            raise ValueError("relu or gelu")
        self.sizes = hidden_units, rate, activation

    def build(self, shape):
        hidden_units, rate, activation = self.sizes
        self.stack = keras.Sequential(
            [layers.Dense(hidden_units), layers.Activation(activation), layers.Dense(shape[-1]), layers.Dropout(rate)]
        )

    def call(self, x, training=False):
        return self.stack(x, training=training)
