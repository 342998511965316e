# %% [markdown]
# # Exercise 2: multi-head self-attention
#
# One head makes one weighted mean. Several heads ask several questions at once. Each head has
# queries, keys and values of its own, and a last layer makes one vector of their answers.
#
# The matrices of all heads stand side by side in one `Dense` layer, which has `heads * d` units.
# Here d is `head_units`, the width of one head. Where it is not given, each head is as wide as the
# input (wide heads).
#
# | step | shape | |
# | --- | --- | --- |
# | inputs | (b, t, k) | |
# | queries, keys, values | (b, t, h·d) | heads side by side |
# | each of them folded | (b·h, t, d) | row n·h + i is head i of sample n |
# | attended | (b·h, t, d) | the attention of exercise 1 |
# | merged | (b, t, h·d) | heads side by side again |
# | output | (b, t, k) | after `unify_heads` |
#
# In Keras a layer has three methods:
#
# - `__init__` keeps what the layer is made with. It knows no sizes of inputs.
# - `build(input_shape)` runs once, before the first call. It makes what depends on the sizes.
# - `call(inputs)` computes.
#
# ## Traps
#
# - **Layers made in `call`.** They are new on every call, so they never learn. Make them in
#   `__init__` or in `build`.
# - **A square bracket for an equals sign.** `perm[0, 2, 1, 3]` looks up a place in something called
#   `perm`. `axes=[0, 2, 1, 3]` is an argument.
# - **Time and heads are mixed.** The axes of time and head change places, on the way there and on
#   the way back. `ops.reshape` alone cannot do that.
# - **The number of units.** A Dense layer takes what it makes as its first argument, `units`. What
#   comes in is seen at the first call.
# - **Half a scale.** Some codes divide queries and keys by the fourth root of d each. Then both need
#   it, and the attention that follows must not scale again.
# - **The pasted line.** Three nearly equal lines make queries, keys and values. If one of them still
#   reads the queries, every shape is right.
# - **The scale.** The width that counts is that of one head.
# - **A bias where none is asked for.** `Dense` has one unless you say `use_bias=False`.
# - **The last layer is made but never called.** With wide heads the shapes betray it.
#
# Check your work with `grade check exercise2`.

# %%
import keras
from exercise1_attention import scaled_dot_product_attention
from keras import ops


# %%
class SelfAttention(keras.layers.Layer):
    """Attend within a sequence with several heads at once.

    Layers: `to_queries`, `to_keys` and `to_values` (heads * head_units units, without a bias) and
    `unify_heads` (as many units as the input is wide, with a bias). `head_units` is the width of
    one head, where none is given the width of the input.
    """

    def __init__(self, heads, *, head_units=None, **kwargs):
        raise NotImplementedError

    def build(self, input_shape):
        """Make the four layers: only now the width of the input is known."""
        raise NotImplementedError

    def call(self, inputs):
        """Return for each position what its heads gathered: (b, t, k) makes (b, t, k)."""
        raise NotImplementedError
