# %% [markdown]
# # Exercise 2: query, key and value projections
#
# ## Before you begin
#
# - **You learn to** write a module with layers that learn, and use one module inside another.
# - **You need** exercise 1, and classes in Python.
# - **Time:** 25 to 50 minutes, estimated from two parts and about 10 lines.
# - **Difficulty:** 1 of 4.
# - **Not allowed:** torch's own attention (`F.scaled_dot_product_attention`,
#   `nn.MultiheadAttention`). You write it by hand.
#
# Calls that help:
#
# - `nn.Module` is the class of all modules. Layers that you set as attributes in `__init__`, after
#   `super().__init__()`, are found by optimizers and saved.
# - `nn.Linear(n, m)` turns the last axis from size n into size m. All other axes stay. With
#   `bias=False` it only multiplies.
# - `self.layer(x)` runs a layer. You write `forward`, and torch calls it.
#
# ## What it is for
#
# Bare self-attention has nothing to learn: a word matches the words whose vectors are like its own,
# and so mostly itself. To let a model choose what a word looks for, what it answers to, and what it
# passes on, each of the three parts gets a matrix of its own. One vector goes in; its query, its
# key and its value come out.
#
# The three views are why attention can be lopsided. The word *it* may look hard at *cup* while
# *cup* takes no notice of *it*; with one shared view the scores would be symmetric.
#
# You write the three projections as a module, then an attention head: the projections, followed by
# the scaled attention of exercise 1. Grading calls a correct exercise 1 here, whatever yours is.
#
# ## The formulas
#
# With vectors of width $k$ as the rows of $X$ (Vaswani et al. 2017, sections 3.2.1 and 3.2.2):
#
# $$Q = X W_Q, \qquad K = X W_K, \qquad V = X W_V,
# \qquad W_Q, W_K, W_V \in \mathbb{R}^{k \times d}$$
#
# Here $k$ is `embed_dim`, the width of what comes in, and $d$ is `head_dim`, the width of a head.
# With `bias=True` a learned vector of width $d$ is added to each. A head is then
#
# $$Y = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}}\right) V.$$
#
# A curiosity: a bias on the keys adds the same number to all scores of one query, and a softmax
# does not notice that. It cannot change the output of a head, and its gradient is zero.
#
# ## Shapes, step by step
#
# ```
#                     +-- to_queries --> queries (b, t, d) --+
#                     |                                      |
#    x (b, t, k) -----+-- to_keys -----> keys    (b, t, d) --+--> weights (b, t, t) --+
#                     |                                                               |
#                     +-- to_values ---> values  (b, t, d) ---------------------------+--> (b, t, d)
# ```
#
# | step | shape |
# | --- | --- |
# | x | (b, t, k) |
# | queries, keys, values | (b, t, d) each |
# | weights | (b, t, t) |
# | output | (b, t, d) |
#
# Best call the modules `to_queries`, `to_keys` and `to_values`: reports use these names. Other
# names are accepted, too.
#
# ## A worked example
#
# Four inputs of width 4, and weights for $d = 5$ written with one row for each input component:
#
# ```
#        X                W_Q                 W_K                 W_V
#   1  0  1  0       1  0  1  0  1       0  0  1  1  1       0  2  0  3  1
#   0  2  0  2       1  0  0  1  1       1  1  0  0  1       0  3  0  1  3
#   1  1  1  1       0  0  1  0  0       0  1  0  1  1       1  0  3  1  1
#   3  1  1  1       0  1  1  1  0       1  1  0  0  0       1  1  0  2  2
# ```
#
# The first input has the query 1 0 2 0 1, the key 0 1 1 2 2 and the value 1 2 3 4 2. Its dot
# products with the four keys are 4, 6, 7 and 13. See what the scale is good for:
#
# ```
#   unscaled          0.0001   0.0009   0.0025   0.9965
#   over root of 5    0.0158   0.0387   0.0605   0.8850
# ```
#
# To see it with your own layers, put each matrix in, as floats and turned, for torch stores it as
# (out, in): `layer.weight.data = W_Q.T.float()`.
#
# So the first output is 1.98, 9.55, 2.88, 12.22, 8.81: mostly the value of the fourth input.
#
# For the fourth input the products are 18, 28, 32 and 54. Unscaled, its weights are 1 and three
# numbers below a billionth: hardly any gradient reaches the other keys, and they cannot learn.
#
# ## Traps
#
# - **The second projection reads the first one's result,** or is the first one's layer. The keys
#   are computed from the queries, or the values by the layer of the keys. With one width for all,
#   both run, and even learn a little. All three read x, and each has a layer of its own. This slip
#   is easy to paste: it stands in published notebooks.
# - **One layer plays two parts.** Count the parameters: three layers, three different weights.
# - **The order of the answer.** Queries first, then keys, then values. Two exchanged are three
#   tensors of the right shape.
# - **A bias where none was asked for,** or none where it was. torch's linear layer has one unless
#   told otherwise, and here the default is none.
# - **A weight the wrong way round.** torch stores a linear weight as (out, in), that is $(d, k)$.
#   The matrices of the formulas and of the example are written (in, out). With a raw parameter of
#   your own and equal widths, the wrong product raises no error.
# - **Layers that nobody knows of.** Kept in a plain list or dict they are missing from
#   `parameters()`: no optimizer trains them and no checkpoint saves them.
# - **The root of the wrong width.** A head works at width $d$, and its scale comes from that, not
#   from the width of x.
#
# ## Further reading
#
# - Vaswani et al. 2017, [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762), sections
#   3.2.1 and 3.2.2.
#
# ## Now write it
#
# Guess what your code will do: `grade try exercise2`. Check your work: `grade check exercise2`.

# %%
from exercise1_attention import scaled_dot_product_attention
from torch import Tensor, nn

# %% [markdown]
# ### `QKVProjection(embed_dim, head_dim)`
#
# Three linear layers that read the same input.


# %%
class QKVProjection(nn.Module):
    """Project each vector to a query, a key and a value.

    Modules: `to_queries`, `to_keys` and `to_values`, each embed_dim -> head_dim, with a bias only
    where `bias` is true. Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(self, embed_dim: int, head_dim: int, *, bias: bool = False) -> None:
        """Make the three layers."""
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the queries, the keys and the values, in this order.

        Shapes: x (b, t, k); returns three tensors (b, t, d).

        Example: QKVProjection(8, 6) takes x (2, 5, 8) to three tensors of shape (2, 5, 6).
        """
        raise NotImplementedError


# %% [markdown]
# ### `AttentionHead(embed_dim, head_dim)`
#
# The projections as a module named `projection`, then scaled attention.


# %%
class AttentionHead(nn.Module):
    """Attend within a sequence through learned queries, keys and values.

    Modules: `projection`, a `QKVProjection`, whose layers have biases only where `bias` is true.
    Source: Vaswani et al. 2017, section 3.2.2, for a single head.
    """

    def __init__(self, embed_dim: int, head_dim: int, *, bias: bool = False) -> None:
        """Make the projection."""
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Project x and return the attended values.

        Shapes: x (b, t, k); returns (b, t, d).

        Example: AttentionHead(8, 6) takes x (2, 5, 8) to an output of shape (2, 5, 6).
        """
        raise NotImplementedError
