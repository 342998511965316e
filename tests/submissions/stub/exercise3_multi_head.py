# %% [markdown]
# # Exercise 3: multi-head attention
#
# ## Before you begin
#
# - **You learn to** run many heads at once, without a loop, and see where each number goes.
# - **You need** exercise 1, whose attention you call, and what you learnt in exercise 2.
# - **Time:** 50 to 100 minutes, estimated from three parts and about 30 lines.
# - **Difficulty:** 3 of 4.
# - **Not allowed:** torch's own attention (`F.scaled_dot_product_attention`,
#   `nn.MultiheadAttention`). You write it by hand.
#
# Calls that help:
#
# - `x.reshape(2, 3, 4)` gives another shape to the same numbers in the same order.
# - `x.view(2, 3, 4)` does so too, and refuses where it would have to copy.
# - `x.transpose(1, 2)` exchanges two axes; in memory the old order stays, until a copy is made.
# - `a // b` divides whole numbers, and `a % b` is what is left over.
#
# ## What it is for
#
# One head makes one weighted mean. But a word has several questions at once: in "Ada lent Max her
# bike", *lent* wants to know who lent, what, and to whom. One set of weights has to blend the three
# answers. Several heads ask side by side, each with its own queries, keys and values, and a last
# linear layer makes one vector of their answers.
#
# No loop over heads is needed. Heads do not talk to each other while they attend, and neither do
# the samples of a batch. So the heads are **folded into the batch**: a batch of b samples with h
# heads becomes a batch of b*h small samples, and the attention of exercise 1 serves unchanged.
#
# ## The formulas
#
# For the heads $i = 0 \dots h - 1$, of which $W^i$ are the matrices (Vaswani et al. 2017, 3.2.2):
#
# $$Y_i = \mathrm{attention}(X W_Q^i,\; X W_K^i,\; X W_V^i), \qquad
# Y = [\,Y_0,\; \dots,\; Y_{h-1}\,]\, W_O + b_O$$
#
# The heads' outputs stand side by side along the last axis, $h \cdot d$ wide, and the last layer,
# `unify_heads`, makes one vector of them: that is $W_O$ and $b_O$. The matrices of the queries
# stand side by side as well, in one linear layer for all heads; so do those of the keys and of the
# values.
#
# **Narrow heads** share out the width, $d = k / h$: all heads together cost what one head of width
# $k$ would. The model bert-base has k = 768, h = 12, d = 64. **Wide heads** have $d = k$ each, and
# the last layer brings $h \cdot k$ back to $k$. Any other `head_dim` works the same way.
#
# ## Shapes, step by step
#
# | step | shape | |
# | --- | --- | --- |
# | x | (b, t, k) | k is `embed_dim` |
# | queries, keys, values | (b, t, h*d) | h is `num_heads`, d is `head_dim`: heads side by side |
# | each of them split | (b, t, h, d) | `split`: a vector for each head |
# | heads before time | (b, h, t, d) | `heads_first`: two axes change places |
# | folded | (b*h, t, d) | `folded`: row n*h + i is head i of sample n |
# | attended | (b*h, t, d) | exercise 1, with $d$ of one head |
# | unfolded | (b, t, h*d) | heads side by side again |
# | output | (b, t, k) | after `unify_heads` |
#
# Folding, for two samples, two heads (A and B) and two positions (t0 and t1):
#
# ```
#    (b, t, h*d)                                    (b*h, t, d)
#
#    sample 0   t0  [ A A | B B ]                   row 0   sample 0, head A   t0 [ A A ]
#               t1  [ A A | B B ]                                              t1 [ A A ]
#                                     fold -->      row 1   sample 0, head B   t0 [ B B ]
#    sample 1   t0  [ A A | B B ]                                              t1 [ B B ]
#               t1  [ A A | B B ]   <-- unfold      row 2   sample 1, head A   ...
#                                                   row 3   sample 1, head B   ...
# ```
#
# Unfolding goes back: `separated` has the shape (b, h, t, d), `time_first` (b, t, h, d), and
# `unfolded` (b, t, h*d). `grade explain` shows your run of both functions with these names.
#
# In memory the numbers of one time step lie together; after folding, those of one head do. Head and
# time have to change places on the way, which no mere change of shape can do. With one sample, two
# heads, and the rows 0 1 2 3 and 4 5 6 7:
#
# ```
#    right:   head 0 = [[0, 1], [4, 5]]    head 1 = [[2, 3], [6, 7]]     a share of every time step
#    wrong:   head 0 = [[0, 1], [2, 3]]    head 1 = [[4, 5], [6, 7]]     one time step each
# ```
#
# ## Traps
#
# - **Time and heads are mixed.** The shapes fit at every step and the loss even falls. The symptom:
#   change only the last time step of the input, and the first head does not notice. Fold the
#   numbers 0 to 7 as in the drawing of right and wrong, and look.
# - **Heads dealt out number by number.** The first d numbers of a position are the first head's, so
#   the last axis splits into (h, d). Split into (d, h), each head gets every h-th number: rows of
#   loaded weights then go to the wrong heads.
# - **An error that says `view size is not compatible`.** After two axes have changed places the
#   numbers no longer lie in order, and `view` refuses to copy: use `reshape`. Leaving out the
#   exchange silences the error, and time and heads are mixed.
# - **A result thrown away.** Tensor methods without a final underscore return a new tensor. A line
#   that calls one and keeps nothing has done nothing.
# - **Samples leak into each other.** Folding with the head outermost and unfolding with the sample
#   outermost (or the other way round) goes unseen for one sample. Try two, and change one of them:
#   the other's output must not move.
# - **Heads look at heads.** Attention compares what stands on the last axis but one. Of
#   (b, t, h, d) that is the heads of one position. It has to be the positions of one head, so h
#   stands before t.
# - **The pasted line.** Three nearly equal lines fold queries, keys and values. If one of them
#   still folds the queries, every shape is right. It stands in published notebooks too.
# - **The scale.** The width that counts is that of one head. If the weights are too even for narrow
#   heads, look whether the root is that of the full width.
# - **Half a scale.** Some code divides both queries and keys by the fourth root of $d$, in place of
#   the scores by its root. To divide one alone is too little, and to scale again is too much.
# - **The last layer is made but never called.** With $h \cdot d = k$ no shape betrays it, and its
#   parameters have no gradient.
# - **Heads averaged,** or added up. Set them side by side: the last layer weighs them.
# - **`head_dim` unheard.** With it given, `embed_dim` is not divided, and may have any size.
#   Without it, one that num_heads does not divide is a `ValueError`.
# - **Sizes remembered.** b and t belong to the input: one module must serve two shapes in a row.
#
# ## Further reading
#
# - Vaswani et al. 2017, [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762), section
#   3.2.2.
#
# ## Now write it
#
# Guess what your code will do: `grade try exercise3`. Check your work: `grade check exercise3`.

# %%
from exercise1_attention import scaled_dot_product_attention
from torch import Tensor, nn

# %% [markdown]
# ### `fold_heads(x, num_heads)`
#
# From heads side by side to heads in the batch.


# %%
def fold_heads(x: Tensor, num_heads: int) -> Tensor:
    """Move the heads from the last axis into the batch.

    Shapes: x (b, t, h*d); returns (b*h, t, d), where row n*h + i is head i of sample n.
    Source: Vaswani et al. 2017, section 3.2.2 (heads attend in parallel).

    Example: x (2, 5, 12) with three heads gives (6, 5, 4).
    """
    raise NotImplementedError


# %% [markdown]
# ### `unfold_heads(x, num_heads)`
#
# And back. Unfolding what was folded gives the tensor that you began with.


# %%
def unfold_heads(x: Tensor, num_heads: int) -> Tensor:
    """Move the heads from the batch back to the last axis: the inverse of `fold_heads`.

    Shapes: x (b*h, t, d); returns (b, t, h*d).
    Source: Vaswani et al. 2017, section 3.2.2 (heads are concatenated).

    Example: x (6, 5, 4) with three heads gives (2, 5, 12).
    """
    raise NotImplementedError


# %% [markdown]
# ### `MultiHeadSelfAttention(embed_dim, num_heads)`
#
# Project, fold, attend, unfold, unify.


# %%
class MultiHeadSelfAttention(nn.Module):
    """Attend within a sequence with several heads at once.

    Modules: `to_queries`, `to_keys` and `to_values` (embed_dim -> num_heads * head_dim, with a bias
    only where `bias` is true) and `unify_heads` (num_heads * head_dim -> embed_dim, always with a
    bias). `head_dim` is embed_dim // num_heads where none is given.
    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, *, head_dim: int | None = None, bias: bool = False
    ) -> None:
        """Make the four layers.

        Raises ValueError where no `head_dim` is given and num_heads does not divide embed_dim.
        """
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Return for each position what its heads gathered, as one vector.

        Shapes: x (b, t, k); returns (b, t, k), for any b and t.

        Example: MultiHeadSelfAttention(12, 3) takes x (2, 5, 12) to an output of shape (2, 5, 12).
        """
        raise NotImplementedError
