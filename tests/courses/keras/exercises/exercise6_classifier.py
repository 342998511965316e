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
# ## Traps
#
# - **Probabilities for log-probabilities.** `ops.log_softmax` gives the logarithms. The exponentials
#   of a row sum to one.
# - **The mean over the wrong axis.** Time is the second axis.
# - **The order of mean and softmax.** First the mean over time, then one layer, then log_softmax.
# - **Too long.** More tokens than `max_len` are a `ValueError`.
# - **The encoder is kept and never called.**
# - **Positions forgotten.** Without them the order of the tokens does not count.
#
# Check your work with `grade check exercise6`.

# %%
import keras
from keras import ops


# %%
class Classifier(keras.layers.Layer):
    """Classify sequences of tokens with a given encoder.

    `encoder` maps (b, t, units) to the same shape. Layers: `token_embedding` (vocab_size vectors),
    `position_embedding` (max_len vectors), `encoder` and `to_logits` (num_classes units).
    """

    def __init__(self, encoder, vocab_size, units, max_len, num_classes, **kwargs):
        raise NotImplementedError

    def call(self, tokens):
        """Return the log-probability of each class: (b, t) makes (b, c).

        Raises ValueError where t is larger than max_len.
        """
        raise NotImplementedError
