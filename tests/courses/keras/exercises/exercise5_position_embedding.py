# %% [markdown]
# # Exercise 5: positions
#
# Attention does not know where a position stands: exchange two inputs, and the outputs are
# exchanged. So a vector for each position is added, which is trained like any weight.
#
# | step | shape |
# | --- | --- |
# | inputs | (b, t, k) |
# | position vectors | (t, k), the first t of `max_len` |
# | output | (b, t, k) |
#
# `keras.layers.Embedding(n, units)` is a table of n vectors; called with whole numbers it looks
# them up. `ops.arange(t)` counts from 0 to t - 1.
#
# ## Traps
#
# - **Too long.** More positions than the table has are a `ValueError`. Keras itself may not notice.
# - **Only full-length inputs.** The table has `max_len` rows, the input t: take the first t.
# - **Along the wrong axis.** The vectors belong to positions, not to samples.
# - **Positions count from 0.**
# - **Weights that nobody trains.** `trainable=False`, or a tensor in place of a weight, never learns.
#
# Check your work with `grade check exercise5`.

# %%
import keras
from keras import ops


# %%
class PositionEmbedding(keras.layers.Layer):
    """Add a trained vector for each position.

    Layer: `embedding`, `max_len` vectors as wide as the input.
    """

    def __init__(self, max_len, **kwargs):
        raise NotImplementedError

    def build(self, input_shape):
        """Make the table: only now the width of the input is known."""
        raise NotImplementedError

    def call(self, inputs):
        """Return inputs (b, t, k) plus the vectors of their positions.

        Raises ValueError where t is larger than max_len.
        """
        raise NotImplementedError
