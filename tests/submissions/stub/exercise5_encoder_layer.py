# %% [markdown]
# # Exercise 5: the encoder layer
#
# ## Before you begin
#
# - **You learn to** join sublayers by skip connections and norms, in the old order and in the new
#   one.
# - **You need** modules, as in exercise 2. You can do it before exercises 3 and 4.
# - **Time:** 30 to 60 minutes, estimated from one part and about 15 lines.
# - **Difficulty:** 2 of 4.
# - **Not allowed:** torch's own encoder layer (`nn.TransformerEncoderLayer`). You write it by hand.
#
# Calls that help:
#
# - `nn.LayerNorm(k)` norms the last axis, of size k. Each one has parameters of its own.
# - `nn.Dropout(p)` has no parameters: one may serve several places.
# - A module that you are given becomes a part of yours when you set it as an attribute.
#
# ## What it is for
#
# Attention gathers, the feed-forward network digests. An encoder layer joins the two sublayers so
# that many layers can be stacked and still be trained. Two devices make that possible:
#
# - A **skip connection** adds a sublayer's input to its output. A sublayer then has to learn only
#   what to change, and the gradient has a way around it.
# - **Layer normalization** brings each vector to mean 0 and variance 1, and then scales and shifts
#   each component by learned amounts. Numbers keep their size however deep the stack grows.
#
# Where the norm stands is a choice. The original transformer puts it after each sum
# (**post-norm**), and then needs a learning rate that warms up slowly: at the start, the gradients
# of the layers near the output are large. Put at the entrance of each sublayer (**pre-norm**), it
# leaves a clear path of additions from bottom to top, and the warm-up can be dropped (Xiong et al.
# 2020). You write both.
#
# The two sublayers are handed to your layer. It neither builds them nor asks what they are made of.
#
# ## The formulas
#
# With $A$ for attention, $F$ for the feed-forward network, $D$ for dropout and $N_1$, $N_2$ for the
# norms:
#
# $$\text{post-norm:} \qquad u = N_1(x + D(A(x))), \qquad y = N_2(u + D(F(u)))$$
#
# $$\text{pre-norm:} \qquad u = x + D(A(N_1(x))), \qquad y = u + D(F(N_2(u)))$$
#
# Layer normalization works along the embedding of one position (Ba et al. 2016):
#
# $$N(x) = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta, \qquad
# \mu = \frac{1}{k} \sum_{i} x_i, \qquad \sigma^2 = \frac{1}{k} \sum_{i} (x_i - \mu)^2$$
#
# with $\varepsilon = 10^{-5}$. The vector 1, 2, 3, 4 becomes -1.3416, -0.4472, 0.4472, 1.3416.
#
# ## Shapes, step by step
#
# Every step has the shape (b, t, k): it has to, or the sums could not be taken.
#
# ```
#       post-norm (norm_first=False)              pre-norm (norm_first=True)
#
#         x                                         x
#         +---------------+                         +---------------+
#         |               |                         |               |
#     attention           |                       norm1             |
#         |               |                         |               |
#      dropout            | skip                attention           | skip
#         |               |                         |               |
#        (+) <------------+                      dropout            |
#         |                                         |               |
#       norm1                                      (+) <------------+
#         +---------------+                         +---------------+
#         |               |                         |               |
#    feed_forward         |                       norm2             |
#         |               | skip                    |               |
#      dropout            |                    feed_forward         | skip
#         |               |                         |               |
#        (+) <------------+                      dropout            |
#         |                                         |               |
#       norm2                                      (+) <------------+
#         |                                         |
#         y                                         y
# ```
#
# Names count here: `attention`, `feed_forward`, `norm1` (with attention) and `norm2` (with the
# feed-forward network).
#
# ## Traps
#
# - **The switch reversed, or not connected.** Post-norm is the default. In post-norm a fresh
#   layer's output has mean 0 and variance 1 at each position, whatever comes in; in pre-norm it
#   does not. That tells the two apart at a glance.
# - **A skip forgotten.** Give the layer sublayers that return zeros. A pre-norm layer must then
#   return its input, number by number.
# - **A skip that starts at the wrong place.** The second sum begins where the second sublayer's
#   branch begins in the drawing: not at the x of the layer, and, in post-norm, not before `norm1`.
#   In pre-norm neither skip passes through a norm.
# - **A skip taken twice.** If the sublayers you were given add x themselves, that is their affair.
#   Yours adds it once.
# - **One norm in two places,** or the two exchanged. Freshly made norms are all alike, scale 1 and
#   shift 0, so the mistake is invisible until they are trained. The grader gives them random
#   numbers.
# - **The wrong axis.** Each position of each sample is normed by itself. Change one time step, with
#   sublayers that return zeros: no other row may move.
# - **A norm of your own.** Epsilon stands under the root, not beside it, and the variance divides
#   by k, not by k - 1. torch's own `var` divides by k - 1 unless told otherwise; the vector 1, 2,
#   3, 4 would begin with -1.1619.
# - **The order of the sublayers.** Attention first.
# - **Dropout on the sum.** It falls on the sublayer's output, before the sum; the skip stays whole.
#
# ## Further reading
#
# - Vaswani et al. 2017, [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762), sections
#   3.1 and 5.4 (residual dropout).
# - Ba et al. 2016, [*Layer Normalization*](https://arxiv.org/abs/1607.06450).
# - Xiong et al. 2020, [*On Layer Normalization in the Transformer
#   Architecture*](https://arxiv.org/abs/2002.04745).
# - He et al. 2016, [*Deep Residual Learning for Image
#   Recognition*](https://arxiv.org/abs/1512.03385), for the skip connection.
#
# ## Now write it
#
# Guess what your code will do: `grade try exercise5`. Check your work: `grade check exercise5`.

# %%
from torch import Tensor, nn

# %% [markdown]
# ### `EncoderLayer(attention, feed_forward, embed_dim)`
#
# Two given sublayers, two skips, two norms.


# %%
class EncoderLayer(nn.Module):
    """Join attention and a feed-forward network by skip connections and layer norms.

    `attention` and `feed_forward` each map (b, t, k) to (b, t, k). Modules: `attention`,
    `feed_forward`, `norm1` and `norm2` (layer norms over embed_dim, eps 1e-5). `dropout` falls on
    the output of each sublayer. `norm_first` chooses pre-norm; post-norm is the default.
    Source: Vaswani et al. 2017, section 3.1 (post-norm); Xiong et al. 2020, section 3 (pre-norm).
    """

    def __init__(
        self,
        attention: nn.Module,
        feed_forward: nn.Module,
        embed_dim: int,
        *,
        norm_first: bool = False,
        dropout: float = 0.0,
    ) -> None:
        """Keep the sublayers and make the norms."""
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Pass x through both sublayers.

        Shapes: x (b, t, k); returns (b, t, k).

        Example: EncoderLayer(nn.Identity(), nn.Identity(), 8) takes x (2, 5, 8) to shape (2, 5, 8).
        """
        raise NotImplementedError
