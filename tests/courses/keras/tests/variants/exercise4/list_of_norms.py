"""Norms in a Python list."""

import keras
from keras import layers, ops


class EncoderLayer(layers.Layer):
    def __init__(self, attention, feed_forward, *, norm_first=False, rate=0.0, **kwargs):
        super().__init__(**kwargs)
        self.attention, self.feed_forward = attention, feed_forward
        self.norm_first = norm_first
        self.norms = [layers.LayerNormalization(epsilon=1e-5) for _ in range(2)]
        self.dropout = layers.Dropout(rate)

    def call(self, x, training=False):
        for norm, inner in zip(self.norms, [self.attention, self.feed_forward]):
            if self.norm_first:
                x = ops.add(x, self.dropout(inner(norm(x)), training=training))
            else:
                x = norm(ops.add(x, self.dropout(inner(x), training=training)))
        return x
