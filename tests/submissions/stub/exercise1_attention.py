# %% [markdown]
# # Exercise 1: attention
#
# ## Before you begin
#
# - **You learn to** write the attention that every transformer uses, and say what its scale and its
#   softmax do.
# - **You need** Python, tensors of torch, and the product of two matrices.
# - **Time:** 30 to 60 minutes, estimated from three parts and about 10 lines.
# - **Difficulty:** 1 of 4.
# - **Not allowed:** torch's own attention (`F.scaled_dot_product_attention`,
#   `nn.MultiheadAttention`). You write it by hand.
#
# Calls that help:
#
# - `a @ b` multiplies matrices: the last two axes count, and those before them are batches.
# - `x.mT` is `x` with its last two axes exchanged; `x.transpose(1, 2)` names the two axes.
# - `torch.softmax(x, dim)` makes weights of numbers: along the axis `dim` they sum to one. A
#   negative `dim` counts from the end.
# - `x.size(1)` is the size of an axis, and `x.shape` has all of them.
# - A bare `*` among parameters means that those behind it are given by name: `scale=0.5`.
#
# ## What it is for
#
# A sentence reaches a model as a sequence of vectors, one for each word, and each was looked up
# without a glance at its neighbours. In "the cup hit the tile and it broke", the vector of *it*
# cannot know what broke. Attention lets positions look at one another: every position gets a new
# vector, which is a weighted mean over all positions, and the weights come from how well the
# vectors match.
#
# Attention has three roles, and each may be played by a tensor of its own:
#
# - a **query** says what a position is looking for;
# - a **key** says what a position has to offer;
# - a **value** is what it hands over once it is chosen.
#
# You write attention twice. First the bare form, in which one tensor plays all three roles and
# nothing is scaled. Then the form that every transformer uses, with three tensors and a scale.
#
# ## The formulas
#
# Bare self-attention of one sample: the rows of $X$ are its positions; softmax works row by row:
#
# $$Y = \mathrm{softmax}(X X^\top)\, X$$
#
# Scaled, for queries $Q$ and keys $K$ of width $d$, and values $V$ (Vaswani et al. 2017, 3.2.1):
#
# $$\mathrm{weights} = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}}\right), \qquad
# Y = \mathrm{weights}\; V$$
#
# Why a square root? Where the components of a query and a key are independent, with mean 0 and
# variance 1, their dot product is a sum of $d$ such products and has variance $d$. Dividing by
# $\sqrt{d}$ brings the variance back to 1. Without it the softmax of a wide model puts nearly all
# its weight on a single key, and there the gradient of the softmax is nearly zero.
#
# ## Shapes, step by step
#
# Shapes are written with letters. A batch has b samples, each a sequence of t positions with a
# vector of k numbers each: x is (b, t, k). Where queries and keys are tensors of their own, there
# are q queries and s keys, both d wide, and the values are w wide.
#
# | step | shape | |
# | --- | --- | --- |
# | query | (b, q, d) | q positions ask |
# | key | (b, s, d) | s positions answer |
# | value | (b, s, w) | one for each key, of any width |
# | scores | (b, q, s) | one number for each pair, scaled |
# | weights | (b, q, s) | softmax of the scores |
# | output | (b, q, w) | one mixed value for each query |
#
# The weights of one sample with three queries and four keys:
#
# ```
#              key 0   key 1   key 2   key 3
#   query 0  [  0.70    0.10    0.15    0.05  ]   sum 1     a row is how one query
#   query 1  [  0.20    0.20    0.20    0.40  ]   sum 1     divides its attention
#   query 2  [  0.01    0.97    0.01    0.01  ]   sum 1     among all the keys
# ```
#
# Figures to compare with. For $X$ with the rows (1, 0), (0, 1), (1, 1), bare self-attention gives
# the first row of weights 0.4223, 0.1554, 0.4223 and the first row of output 0.8446, 0.5777. With
# the same $X$ as query and key, the scaled weights begin 0.4011, 0.1978, 0.4011.
#
# ## Traps
#
# No need to learn them by heart: `grade hint` leads back to the one that comes nearest.
#
# - **The softmax runs along the wrong axis.** The columns of the weights sum to one and the rows do
#   not. The shapes are the same all the while, so look at the sums. If every weight is exactly 1
#   for a batch of one sample, the softmax ran over the batch.
# - **No softmax, or two.** Without it the scores are used as weights: they may be negative, and sum
#   to anything. Taken twice, the weights come out nearly even.
# - **The root of the wrong number.** The $d$ in the scale is the width that query and key share. It
#   is not the number of positions and not the width of the values. Try it with sizes that all
#   differ: if some of them agree, this mistake cannot be seen.
# - **The scale in the wrong place.** It belongs to the scores. On the weights, the rows no longer
#   sum to one; on the values, the output is small and the weights are too sharp.
# - **A scale that goes unheard, or divides.** Call your function with two scales: if the answer
#   stays the same, the default is always used. A given scale multiplies the scores: a larger one
#   makes the weights less even. Zero is a scale too: ask whether it is None, not if it is true.
# - **A scale too many.** `self_attention` has none, whatever the width. The other form has one: if
#   a function that you call scales, do not scale again.
# - **Keys and queries exchanged.** With equal lengths the scores have the right shape, and are the
#   transpose of the right ones. The bare form cannot show it: there the
#   scores are symmetric.
# - **`nan` for large scores.** The exponential of 800 is infinite in float64 too, and infinity
#   divided by itself is `nan`. torch's softmax guards against this; one written by hand must do so
#   as well.
# - **More than two axes turned.** A batch has three axes, and only the last two change places. If
#   you see a warning about `.T`, or an error about sizes, all three may have been reversed.
# - **A result thrown away.** `x.transpose(1, 2)` makes a new tensor and leaves x as it is. A line
#   that calls it and keeps nothing has done nothing.
# - **Nothing learns.** Values right and gradients zero or missing: the path from input to output
#   was cut by `detach`, `.data` or `no_grad`.
# - **The caller's tensor changed.** Methods that end in an underscore, and `+=` and its kin, write
#   into the tensor that you were given. Make a new one.
#
# ## Further reading
#
# - Vaswani et al. 2017, [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762), section
#   3.2.1. Its footnote 4 has the argument about variance.
# - Bahdanau et al. 2015, [*Neural Machine Translation by Jointly Learning to Align and
#   Translate*](https://arxiv.org/abs/1409.0473), where attention began.
#
# ## Now write it
#
# Guess what your code will do: `grade try exercise1`. Check your work: `grade check exercise1`.

# %%
import math

import torch
from torch import Tensor

# %% [markdown]
# ### `self_attention(x)`
#
# The bare form: one tensor is query, key and value, and nothing is scaled.


# %%
def self_attention(x: Tensor) -> Tensor:
    """Let the rows of each sample attend to one another, without parameters and without a scale.

    Shapes: x (b, t, k); returns (b, t, k). The caller's tensor is left as it was.
    Source: the formula of Vaswani et al. 2017, section 3.2.1, with Q = K = V and a scale of one.

    Example: x of shape (2, 5, 8) gives an output of shape (2, 5, 8).
    """
    raise NotImplementedError


# %% [markdown]
# ### `attention_weights(query, key)`
#
# How much each query attends to each key: the scores, scaled, then normalized.


# %%
def attention_weights(query: Tensor, key: Tensor, *, scale: float | None = None) -> Tensor:
    """Compute how each query divides its attention among the keys.

    Shapes: query (b, q, d), key (b, s, d); returns (b, q, s), whose rows sum to one.
    The scores are multiplied by `scale`, which is 1 / sqrt(d) where none is given.
    Source: Vaswani et al. 2017, section 3.2.1, equation 1.

    Example: query (2, 3, 8) and key (2, 5, 8) give weights of shape (2, 3, 5).
    """
    raise NotImplementedError


# %% [markdown]
# ### `scaled_dot_product_attention(query, key, value)`
#
# The weights, put to use. The exercises that follow build on this function.


# %%
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, *, scale: float | None = None
) -> Tensor:
    """Mix the values, for each query, by its attention weights.

    Shapes: query (b, q, d), key (b, s, d), value (b, s, w); returns (b, q, w).
    `scale` means what it means in `attention_weights`.
    Source: Vaswani et al. 2017, section 3.2.1, equation 1.

    Example: query (2, 3, 8), key (2, 5, 8) and value (2, 5, 6) give an output of shape (2, 3, 6).
    """
    raise NotImplementedError
