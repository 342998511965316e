"""GELU by erf, and conditions in call."""

import keras
from keras import layers, ops


class FeedForward(keras.Layer):
    def __init__(self, hidden_units, rate=0.0, activation="relu"):
        super().__init__()
        assert_known(activation)
        self.activation, self.first = activation, layers.Dense(hidden_units)
        self.drop = layers.Dropout(rate)

    def build(self, input_shape):
        self.second = layers.Dense(units=input_shape[2])

    def call(self, x, training=None):
        x = self.first(x)
        if self.activation == "gelu":
            x = 0.5 * x * (1 + ops.erf(x / 2**0.5))
        else:
            x = ops.maximum(x, 0)
        x = self.second(x)
        return self.drop(x) if training is None else self.drop(x, training=training)


def assert_known(activation):
    if activation not in {"relu", "gelu"}:
        raise ValueError(activation)
