"""Embeddings in a layer of their own."""

import keras
from exercise2_self_attention import SelfAttention
from exercise3_feed_forward import FeedForward
from exercise4_encoder_layer import EncoderLayer
from keras import layers, ops


class Embed(layers.Layer):
    def __init__(self, vocab_size, units, max_len):
        super().__init__()
        self.max_len = max_len
        self.token = layers.Embedding(vocab_size, units)
        self.position = layers.Embedding(max_len, units)

    def call(self, tokens):
        t = ops.shape(tokens)[1]
        if t > self.max_len:
            raise ValueError("too long")
        return self.token(tokens) + self.position(ops.arange(t))


class Classifier(layers.Layer):
    def __init__(self, encoder, vocab_size, units, max_len, num_classes):
        super().__init__()
        self.embed = Embed(vocab_size, units, max_len)
        self.encoder = encoder
        self.out = layers.Dense(num_classes)

    def call(self, tokens):
        return keras.activations.log_softmax(self.out(ops.mean(self.encoder(self.embed(tokens)), 1)))


class Stack(layers.Layer):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = blocks

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def build_classifier(vocab_size, units, heads, depth, max_len, num_classes, *, rate=0.0):
    if units % heads:
        raise ValueError("the heads do not divide the units")
    blocks = [
        EncoderLayer(
            SelfAttention(heads, head_units=units // heads),
            FeedForward(units * 4, rate=rate),
            rate=rate,
        )
        for _ in range(depth)
    ]
    return Classifier(Stack(blocks), vocab_size, units, max_len, num_classes)
