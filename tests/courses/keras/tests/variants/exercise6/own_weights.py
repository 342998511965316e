"""Positions and the last layer by add_weight, without names."""

import keras
from exercise2_self_attention import SelfAttention
from exercise3_feed_forward import FeedForward
from exercise4_encoder_layer import EncoderLayer
from keras import layers, ops


class Classifier(layers.Layer):
    def __init__(self, encoder, vocab_size, units, max_len, num_classes):
        super().__init__()
        self.encoder, self.max_len = encoder, max_len
        self.token_embedding = layers.Embedding(vocab_size, units)
        self.position_embedding = self.add_weight(shape=(max_len, units))
        self.logits_kernel = self.add_weight(shape=(units, num_classes))
        self.logits_bias = self.add_weight(shape=(num_classes,), initializer="zeros")

    def call(self, tokens):
        b, t = ops.shape(tokens)
        if t > self.max_len:
            raise ValueError("too long")
        x = self.encoder(self.token_embedding(tokens) + self.position_embedding[:t])
        logits = ops.matmul(ops.sum(x, axis=1) / t, self.logits_kernel) + self.logits_bias
        return logits - ops.logsumexp(logits, axis=-1, keepdims=True)


def build_classifier(vocab_size, units, heads, depth, max_len, num_classes, *, rate=0.0):
    if units % heads:
        raise ValueError("the heads do not divide the units")
    encoder = keras.Sequential()
    while len(encoder.layers) < depth:
        feed_forward = FeedForward(units * 4, rate=rate, activation="relu")
        attention = SelfAttention(heads=heads, head_units=units // heads)
        encoder.add(EncoderLayer(attention, feed_forward, rate=rate, norm_first=False))
    return Classifier(encoder, vocab_size, units, max_len, num_classes)
