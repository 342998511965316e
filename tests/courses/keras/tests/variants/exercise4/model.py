"""A subclass of keras.Model."""

import keras
from keras import layers, ops


class EncoderLayer(keras.Model):
    def __init__(self, attention, feed_forward, norm_first=False, rate=0.0):
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.ln1 = layers.LayerNormalization(axis=-1, epsilon=1e-5)
        self.ln2 = layers.LayerNormalization(axis=-1, epsilon=1e-5)
        self.drop = layers.Dropout(rate)
        self.pre = norm_first

    def call(self, inputs, training=None):
        residual = inputs
        hidden = self.ln1(inputs) if self.pre else inputs
        hidden = residual + self.drop(self.attention(hidden), training=training)
        residual = hidden = hidden if self.pre else self.ln1(hidden)
        hidden = self.ln2(hidden) if self.pre else hidden
        hidden = residual + self.drop(self.feed_forward(hidden), training=training)
        return hidden if self.pre else self.ln2(hidden)
