"""Sums by layers.Add, norms made in build."""

import keras
from keras import layers, ops


class EncoderLayer(layers.Layer):
    def __init__(self, attention, feed_forward, *, norm_first=False, rate=0.0, **kwargs):
        super().__init__(**kwargs)
        self.attention, self.feed_forward = attention, feed_forward
        self.norm_first = norm_first
        self.dropout = layers.Dropout(rate)
        self.add = layers.Add()

    def build(self, shape):
        self.norm1 = layers.LayerNormalization(epsilon=1e-5)
        self.norm2 = layers.LayerNormalization(epsilon=1e-5)

    def call(self, inputs):
        x = inputs
        for norm, inner in ((self.norm1, self.attention), (self.norm2, self.feed_forward)):
            y = self.dropout(inner(norm(x) if self.norm_first else x))
            x = self.add([x, y])
            x = x if self.norm_first else norm(x)
        return x
