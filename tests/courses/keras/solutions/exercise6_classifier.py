# %% [markdown]
# # Exercise 6: a classifier of sequences
#
# Tokens are whole numbers. Each one is looked up in a table of vectors, its position's vector is
# added, an encoder mixes the positions, and their mean is classified.
#
# | step | shape |
# | --- | --- |
# | tokens | (b, t) |
# | token vectors | (b, t, units) |
# | position vectors | (t, units) |
# | encoded | (b, t, units) |
# | pooled | (b, units), the mean over time |
# | logits, log-probabilities | (b, c) |
#
# ## What `build_classifier` puts together
#
# `depth` encoder layers one after the other, and the classifier around them. Each layer has
#
# - attention with narrow heads: each head is `units / heads` wide,
# - a feed-forward network with relu, whose hidden layer has 4 · `units` units, with `rate`,
# - post-norm, with `rate`.
#
# `keras.Sequential(layers)` calls layers in turn.
#
# ## Traps
#
# - **Probabilities for log-probabilities.** `ops.log_softmax` gives the logarithms. The exponentials
#   of a row sum to one.
# - **The mean over the wrong axis.** Time is the second axis.
# - **The order of mean and softmax.** First the mean over time, then one layer, then log_softmax.
# - **Too long.** More tokens than `max_len` are a `ValueError`.
# - **The encoder is kept and never called.**
# - **Positions forgotten.** Without them the order of the tokens does not count.
# - **One layer, many times.** `[layer] * depth` holds the same layer again and again. Each place
#   needs a layer of its own. Count the weights.
# - **Layers that nobody keeps.** Keras keeps track of layers in attributes, and in lists there. It
#   does not look into objects of other classes.
#
# Check your work with `grade check exercise6`.

# %%
import keras
from exercise2_self_attention import SelfAttention
from exercise3_feed_forward import FeedForward
from exercise4_encoder_layer import EncoderLayer
from keras import ops


# %%
class Classifier(keras.layers.Layer):
    """Classify sequences of tokens with a given encoder.

    `encoder` maps (b, t, units) to the same shape. Layers: `token_embedding` (vocab_size vectors),
    `position_embedding` (max_len vectors), `encoder` and `to_logits` (num_classes units).
    """

    def __init__(self, encoder, vocab_size, units, max_len, num_classes, **kwargs):
        ### BEGIN SOLUTION
        super().__init__(**kwargs)
        self.max_len = max_len
        self.token_embedding = keras.layers.Embedding(vocab_size, units)
        self.position_embedding = keras.layers.Embedding(max_len, units)
        self.encoder = encoder
        self.to_logits = keras.layers.Dense(num_classes)
        ### END SOLUTION

    def call(self, tokens):
        """Return the log-probability of each class: (b, t) makes (b, c).

        Raises ValueError where t is larger than max_len.
        """
        ### BEGIN SOLUTION
        t = ops.shape(tokens)[1]
        if t > self.max_len:
            raise ValueError(f"{t} tokens, but there are positions for {self.max_len} only")
        token_vectors = self.token_embedding(tokens)  # (b, t, units)
        position_vectors = self.position_embedding(ops.arange(t))  # (t, units)
        embedded = token_vectors + position_vectors  # (b, t, units)
        encoded = self.encoder(embedded)  # (b, t, units)
        pooled = ops.mean(encoded, axis=1)  # (b, units)
        logits = self.to_logits(pooled)  # (b, c)
        log_probabilities = ops.log_softmax(logits, axis=-1)
        return log_probabilities
        ### END SOLUTION


# %%
def build_classifier(vocab_size, units, heads, depth, max_len, num_classes, *, rate=0.0):
    """Build a classifier with `depth` post-norm encoder layers of your own parts.

    Narrow heads, relu, 4 * units hidden units; `rate` is the share that dropout sets to zero in
    each feed-forward network and behind each sublayer. Raises ValueError where `heads` does not
    divide `units`.
    """
    ### BEGIN SOLUTION
    if units % heads:
        raise ValueError(f"{units} units cannot be shared out over {heads} heads")
    layers = []
    for _ in range(depth):
        attention = SelfAttention(heads, head_units=units // heads)
        feed_forward = FeedForward(4 * units, rate=rate)
        layers.append(EncoderLayer(attention, feed_forward, rate=rate))
    encoder = keras.Sequential(layers)
    return Classifier(encoder, vocab_size, units, max_len, num_classes)
    ### END SOLUTION
