# %% [markdown]
# # Exercise 6: position encoding
#
# ## Before you begin
#
# - **You learn to** tell a model the order of its words, by a fixed table or by learned vectors.
# - **You need** modules, as in exercise 2, and sine and cosine.
# - **Time:** 45 to 90 minutes, estimated from three parts and about 25 lines.
# - **Difficulty:** 2 of 4.
#
# Calls that help:
#
# - `torch.arange(5)` has the whole numbers 0 to 4. With `dtype=` they are floats.
# - `x[:, None]` has one axis more, of size 1. A column (t, 1) times a row (n,) is a table (t, n).
# - `x[:, 0::2]` is every second column from column 0. You can assign to it.
# - `self.register_buffer("name", x)` keeps a tensor that is saved and moved, and not trained.
# - `nn.Embedding(n, k)` is a table of n trained vectors. Call it with whole numbers to look them
#   up.
#
# ## What it is for
#
# Attention is blind to order. Shuffle the words of a sentence and each word gets exactly the vector
# that it had before, only in another row: "dog bites man" and "man bites dog" are one and the same.
# So the position is written into the vectors before the first layer, by adding to each a vector
# that stands for its place.
#
# You write two ways of making that vector:
#
# - **Sinusoids:** a fixed table, computed from a formula. Nothing is learned, and a row can be
#   computed for any position, also one that no training sentence reached.
# - **Learned vectors:** one trained vector for each position up to a maximum, looked up like a
#   word. Simple, and as good in practice, but a position that was never trained has a vector that
#   means nothing.
#
# ## The formulas
#
# For position $p = 0, 1, 2, \dots$ and $i = 0, 1, 2, \dots$ (Vaswani et al. 2017, section 3.5):
#
# $$E_{p,\,2i} = \sin\!\left(\frac{p}{10000^{2i/k}}\right), \qquad
# E_{p,\,2i+1} = \cos\!\left(\frac{p}{10000^{2i/k}}\right)$$
#
# Columns come in pairs, a sine and a cosine of **the same** angle. A pair is a clock hand: it turns
# as the position grows, the first pair fast, each later one more slowly. The periods run from
# $2\pi$ up to nearly $10000 \cdot 2\pi$ positions. A step of $n$ positions turns each hand by an
# angle that does not depend on where it started, so "n places to the left" is a linear map of the
# encoding.
#
# All numbers lie between -1 and 1. For k = 4:
#
# ```
#     position    column 0   column 1   column 2   column 3
#                   sin        cos        sin        cos
#        0         0.0000     1.0000     0.0000     1.0000
#        1         0.8415     0.5403     0.0100     1.0000
#        2         0.9093    -0.4161     0.0200     0.9998
#        3         0.1411    -0.9900     0.0300     0.9996
#                 `--- angle p ---'     `- angle p/100 -'
# ```
#
# ## Shapes, step by step
#
# | step | shape | |
# | --- | --- | --- |
# | positions | (t,) | from 0 to t - 1 |
# | frequencies | (k/2,), rounded up | one for each pair of columns |
# | angles | (t, k/2), rounded up | each position times each frequency |
# | encoding | (t, k) | sines in even columns, cosines in odd ones |
# | x | (b, t, k) | |
# | output | (b, t, k) | the same encoding added to each sample |
#
# With an odd k there is one cosine fewer than there are sines: the last column is a sine.
#
# The sinusoidal module keeps its table for `max_len` positions as a **buffer**: a tensor that
# belongs to a module, moves with it to another device and is saved with it, but is not trained. The
# learned module keeps an embedding under the name `embedding`.
#
# ## Traps
#
# - **Even and odd exchanged.** Row 0 tells: it reads 0, 1, 0, 1, and so on.
# - **All sines, then all cosines.** Some codebases do that. Here they alternate; row 0 tells again.
# - **The exponent counted twice.** In $2i$ the $i$ numbers the pairs. Whoever steps through the
#   even columns already holds $2i$ and must not double it. And the cosine in column $2i+1$ has the
#   exponent of its sine, not one of its own. Both slips are small at first: compare at least ten
#   positions and eight columns.
# - **Integers.** Exponents made by integer division are all zero. The symptom: all pairs turn at
#   the same speed.
# - **The wrong base, or positions that begin at one.** The table above finds both.
# - **The wrong slice.** The table's first axis is time. If each position gets the same vector, a
#   single row was taken and spread out. If you see an error about sizes as soon as a sentence is
#   shorter than `max_len`, the table was not cut, or along the wrong axis.
# - **Added along the batch.** With b = t this runs. The symptom: two equal sentences in one batch
#   get different outputs.
# - **A plain attribute in place of a buffer.** All is well until the model moves to another device;
#   then there is an error about two devices. The other extreme, a parameter, is trained away from
#   its formula.
# - **Too long.** A sentence longer than `max_len` is a `ValueError` that names both lengths.
#   Unchecked, it fails in ways that are hard to read, or wraps around and does not fail.
# - **Odd k.** An error about 4 and 3 columns: the cosines need one column fewer.
# - **The caller's tensor changed.** Adding with `+=` writes into the embeddings that you were
#   given.
#
# ## Further reading
#
# - Vaswani et al. 2017, [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762), section
#   3.5.
# - Gehring et al. 2017, [*Convolutional Sequence to Sequence
#   Learning*](https://arxiv.org/abs/1705.03122), for learned positions.
#
# ## Now write it
#
# Guess what your code will do: `grade try exercise6`. Check your work: `grade check exercise6`.

# %%
import torch
from torch import Tensor, nn

# %% [markdown]
# ### `sinusoidal_encoding(seq_len, embed_dim)`
#
# The table itself.


# %%
def sinusoidal_encoding(seq_len: int, embed_dim: int) -> Tensor:
    """Compute the table of sinusoids for positions 0 to seq_len - 1.

    Shapes: returns (t, k), in torch's default dtype. Column 2i is sin(p / 10000^(2i/k)), column
    2i + 1 the cosine of the same angle; an odd k ends on a sine.
    Source: Vaswani et al. 2017, section 3.5.

    Example: sinusoidal_encoding(10, 8) has shape (10, 8), and its row 0 is 0, 1, 0, 1, 0, 1, 0, 1.
    """
    raise NotImplementedError


# %% [markdown]
# ### `SinusoidalPositionEncoding(embed_dim, max_len)`
#
# The table as a module: made once, kept as a buffer, cut to length, added.


# %%
class SinusoidalPositionEncoding(nn.Module):
    """Add the sinusoids of `sinusoidal_encoding` to a batch of sequences.

    Nothing in it is trained. Source: Vaswani et al. 2017, section 3.5.
    """

    def __init__(self, embed_dim: int, max_len: int) -> None:
        """Make the table for `max_len` positions."""
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Return x plus the encoding of its positions.

        Shapes: x (b, t, k); returns (b, t, k). Raises ValueError where t > max_len.

        Example: SinusoidalPositionEncoding(8, 20) takes x (2, 5, 8) to shape (2, 5, 8).
        """
        raise NotImplementedError


# %% [markdown]
# ### `LearnedPositionEmbedding(embed_dim, max_len)`
#
# The same duty, with a trained vector for each position.


# %%
class LearnedPositionEmbedding(nn.Module):
    """Add a trained vector for each position to a batch of sequences.

    Modules: `embedding`, max_len vectors of width embed_dim.
    Source: Vaswani et al. 2017, section 3.5 (learned positional embeddings); Gehring et al. 2017.
    """

    def __init__(self, embed_dim: int, max_len: int) -> None:
        """Make one vector for each of `max_len` positions."""
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Return x plus the vectors of its positions.

        Shapes: x (b, t, k); returns (b, t, k). Raises ValueError where t > max_len.

        Example: LearnedPositionEmbedding(8, 20) takes x (2, 5, 8) to shape (2, 5, 8).
        """
        raise NotImplementedError
