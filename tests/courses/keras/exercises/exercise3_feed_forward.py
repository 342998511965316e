# %% [markdown]
# # Exercise 3: the feed-forward network
#
# After attention each position thinks by itself: it goes through a wide layer, an activation, and a
# layer back to its width. The same two layers serve every position.
#
# $$Y = \mathrm{dropout}\big(\mathrm{act}(X W_1 + b_1)\, W_2 + b_2\big)$$
#
# | step | shape |
# | --- | --- |
# | inputs | (b, t, k) |
# | hidden, activated | (b, t, f), where f is `hidden_units` |
# | output | (b, t, k) |
#
# A `Dense` layer works on the last axis and leaves the others alone. How many units the second one
# has is known once an input comes: make it in `build`.
#
# In training, dropout sets some numbers to zero. A layer gets to know of it by the argument
# `training` of `call`. Keras hands it on to the layers inside by itself.
#
# ## Traps
#
# - **The activation in the wrong place.** It stands between the two layers.
# - **Two formulas for GELU.** `ops.gelu(x)` is an approximation unless you say
#   `approximate=False`. The exact one is asked for.
# - **Dropout that never rests.** `self.dropout(x, training=True)` drops numbers when the model is
#   used, too.
# - **Dropout that never works.** With `training=False` written out, nothing is ever dropped.
# - **Which activation.** `activation` is "relu" or "gelu". Another one is a `ValueError`, which
#   comes from the constructor.
# - **Sizes remembered.** b and t belong to the input: one layer must serve two shapes in a row.
# - **The skip connection is not in here.** The layer around this one adds the input.
#
# Check your work with `grade check exercise3`.

# %%
import keras
from keras import ops


# %%
class FeedForward(keras.layers.Layer):
    """Transform each position by itself: dense, activation, dense, dropout.

    `activation` is "relu" or "gelu" (exact), and ValueError is raised for another one. Both dense
    layers have a bias. `rate` is the share of numbers that dropout sets to zero.
    """

    def __init__(self, hidden_units, *, rate=0.0, activation="relu", **kwargs):
        raise NotImplementedError

    def build(self, input_shape):
        """Make what depends on the width of the input."""
        raise NotImplementedError

    def call(self, inputs, training=None):
        """Return the transformed positions: (b, t, k) makes (b, t, k)."""
        raise NotImplementedError
