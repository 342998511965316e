"""Dense applies the activation itself."""

import keras
from keras import layers, ops


class FeedForward(layers.Layer):
    def __init__(self, hidden_units, *, rate=0.0, activation="relu", **kwargs):
        super().__init__(**kwargs)
        if activation not in ("relu", "gelu"):
            raise ValueError(activation)
        self.dense_1 = layers.Dense(hidden_units, activation=activation)
        self.dropout = layers.Dropout(rate)

    def build(self, input_shape):
        self.dense_2 = layers.Dense(input_shape[-1])

    def call(self, inputs):
        return self.dropout(self.dense_2(self.dense_1(inputs)))
