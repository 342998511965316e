"""The logarithm of a softmax."""

import keras
from exercise2_self_attention import SelfAttention
from exercise3_feed_forward import FeedForward
from exercise4_encoder_layer import EncoderLayer
from keras import layers, ops


class Classifier(layers.Layer):
    def __init__(self, encoder, vocab_size, units, max_len, num_classes, **kwargs):
        super().__init__(**kwargs)
        self.words = layers.Embedding(vocab_size, units)
        self.positions = layers.Embedding(max_len, units)
        self.encoder = encoder
        self.head = layers.Dense(num_classes, activation="softmax")

    def call(self, tokens):
        t = tokens.shape[-1]
        if t > self.positions.input_dim:
            raise ValueError(f"at most {self.positions.input_dim} tokens")
        x = self.words(tokens)
        x = x + self.positions(ops.arange(t))[None]
        return ops.log(self.head(ops.mean(self.encoder(x), axis=-2)))


def build_classifier(vocab_size, units, heads, depth, max_len, num_classes, *, rate=0.0):
    if units % heads:
        raise ValueError("the heads do not divide the units")
    x = inputs = keras.Input((None, units))
    for _ in range(depth):
        attention = SelfAttention(heads, head_units=units // heads)
        x = EncoderLayer(attention, FeedForward(4 * units, rate=rate), rate=rate)(x)
    return Classifier(keras.Model(inputs, x), vocab_size, units, max_len, num_classes)
