"""A branch for each arrangement, dropout twice."""

import keras
from keras import layers, ops


class EncoderLayer(layers.Layer):
    def __init__(self, attention, feed_forward, *, norm_first=False, rate=0.0, **kwargs):
        super().__init__(**kwargs)
        self.attention, self.feed_forward = attention, feed_forward
        self.norm_first = norm_first
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-5)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-5)
        self.dropout1, self.dropout2 = layers.Dropout(rate), layers.Dropout(rate)

    def call(self, x, training=None):
        if self.norm_first:
            x = x + self.dropout1(self.attention(self.layernorm1(x)), training=training)
            return x + self.dropout2(self.feed_forward(self.layernorm2(x)), training=training)
        x = self.layernorm1(x + self.dropout1(self.attention(x), training=training))
        return self.layernorm2(x + self.dropout2(self.feed_forward(x), training=training))
