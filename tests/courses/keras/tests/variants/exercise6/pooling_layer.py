"""GlobalAveragePooling1D and a softmax in the layer."""

import keras
from exercise2_self_attention import SelfAttention
from exercise3_feed_forward import FeedForward
from exercise4_encoder_layer import EncoderLayer
from keras import layers, ops


class Classifier(keras.Model):
    def __init__(self, encoder, vocab_size, units, max_len, num_classes):
        super().__init__()
        self.token_emb = layers.Embedding(vocab_size, units)
        self.pos_emb = layers.Embedding(max_len, units)
        self.encoder = encoder
        self.pool = layers.GlobalAveragePooling1D()
        self.classifier = layers.Dense(num_classes, activation="log_softmax")
        self.max_len = max_len

    def call(self, tokens, training=None):
        length = tokens.shape[1]
        if length > self.max_len:
            raise ValueError("too long")
        x = self.token_emb(tokens) + self.pos_emb(ops.arange(length))
        return self.classifier(self.pool(self.encoder(x)))


class Encoder(keras.Model):
    def __init__(self, units, heads, depth, rate):
        super().__init__()
        self.depth = depth
        for number in range(depth):
            attention = SelfAttention(heads, head_units=units // heads)
            feed_forward = FeedForward(4 * units, rate=rate)
            setattr(self, f"layer_{number}", EncoderLayer(attention, feed_forward, rate=rate))

    def call(self, x, training=None):
        for number in range(self.depth):
            x = getattr(self, f"layer_{number}")(x, training=training)
        return x


def build_classifier(vocab_size, units, heads, depth, max_len, num_classes, *, rate=0.0):
    if units % heads != 0:
        raise ValueError(f"{heads} heads do not divide {units} units")
    return Classifier(Encoder(units, heads, depth, rate), vocab_size, units, max_len, num_classes)
