"""The end is a Sequential."""

import keras
from exercise2_self_attention import SelfAttention
from exercise3_feed_forward import FeedForward
from exercise4_encoder_layer import EncoderLayer
from keras import layers, ops


class Classifier(layers.Layer):
    def __init__(self, encoder, vocab_size, units, max_len, num_classes):
        super().__init__()
        self.max_len = max_len
        self.token_embedding = layers.Embedding(vocab_size, units)
        self.position_embedding = layers.Embedding(max_len, units)
        self.encoder = encoder
        self.end = keras.Sequential(
            [layers.GlobalAveragePooling1D(), layers.Dense(num_classes), layers.Activation("log_softmax")]
        )

    def call(self, tokens, training=None):
        positions = ops.arange(ops.shape(tokens)[1])
        if len(positions) > self.max_len:
            raise ValueError("too long")
        x = layers.add([self.token_embedding(tokens), self.position_embedding(positions) + 0 * self.token_embedding(tokens)])
        return self.end(self.encoder(x), training=training)


def block(units, heads, rate):
    parts = {
        "attention": SelfAttention(heads, head_units=units // heads),
        "feed_forward": FeedForward(4 * units, rate=rate),
    }
    return EncoderLayer(**parts, rate=rate)


def build_classifier(vocab_size, units, heads, depth, max_len, num_classes, *, rate=0.0):
    if units % heads:
        raise ValueError("the heads do not divide the units")
    encoder = keras.Sequential([keras.Sequential([block(units, heads, rate)]) for _ in range(depth)])
    return Classifier(encoder, vocab_size, units, max_len, num_classes)
