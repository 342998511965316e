# %% [markdown]
# # Exercise 4: the encoder layer
#
# An encoder layer joins two sublayers: attention and a feed-forward network. Each sublayer's output
# is added to its input (a **skip connection**), and layer norms keep the numbers in bounds.
#
# **Post-norm**, the default: $x \leftarrow \mathrm{norm}_1(x + \mathrm{attention}(x))$, then
# $x \leftarrow \mathrm{norm}_2(x + \mathrm{ff}(x))$.
#
# **Pre-norm**: $x \leftarrow x + \mathrm{attention}(\mathrm{norm}_1(x))$, then
# $x \leftarrow x + \mathrm{ff}(\mathrm{norm}_2(x))$.
#
# In training, dropout falls on the output of each sublayer, before the sum.
#
# ## Traps
#
# - **The epsilon of Keras.** `LayerNormalization` adds `epsilon` to the variance. Keras has 1e-3
#   unless you say otherwise; this course asks for 1e-5.
# - **Two norms, not one.** Each of them has its own weights.
# - **What is added.** The skip connection goes around the sublayer. In pre-norm the sublayer sees
#   the normed numbers, and the sum is made with those before the norm.
# - **The second skip connection** begins after the first sublayer, not at the layer's input.
# - **The two arrangements.** `norm_first=True` is pre-norm.
# - **Dropout that never rests.** `training=True` written out drops numbers always.
#
# Check your work with `grade check exercise4`.

# %%
import keras


# %%
class EncoderLayer(keras.layers.Layer):
    """Join attention and a feed-forward network by skip connections and layer norms.

    `attention` and `feed_forward` are layers that map (b, t, k) to (b, t, k). Layers: these two,
    `norm1` and `norm2` (epsilon 1e-5). Dropout with `rate` falls on the output of each sublayer.
    """

    def __init__(self, attention, feed_forward, *, norm_first=False, rate=0.0, **kwargs):
        raise NotImplementedError

    def call(self, inputs, training=None):
        """Pass (b, t, k) through both sublayers; the shape stays."""
        raise NotImplementedError
