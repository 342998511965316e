# %% [markdown]
# # Exercise 8: masks
#
# ## Before you begin
#
# - **You learn to** hide positions from attention, and keep NaN out of values and gradients.
# - **You need** exercises 1 to 3.
# - **Time:** 60 to 120 minutes, estimated from four parts and about 35 lines.
# - **Difficulty:** 3 of 4.
# - **Not allowed:** torch's own attention (`F.scaled_dot_product_attention`,
#   `nn.MultiheadAttention`). You write it by hand.
#
# Calls that help:
#
# - `a < b` and `a <= b` compare number by number and give true or false for each. `~mask` turns
#   them round.
# - `x.masked_fill(mask, value)` puts a value wherever the mask is true.
# - `mask.all(dim=0)` asks whether all are true along an axis. With `keepdim=True` that axis stays,
#   with size 1, so the result still fits the tensor.
# - `x.unsqueeze(1)` adds an axis of size 1, and `x.expand(4, 3, 3)` repeats along such axes.
# - `x.repeat_interleave(3, dim=0)` repeats each row three times before it goes on to the next.
#
# ## What it is for
#
# So far every position has looked at every other one. Two things forbid that. A model that
# **writes** must not see the words that it is about to write: position i may look at 0 to i and
# no further. And sentences of a batch have different lengths: short ones are filled up with
# **padding**, which means nothing and must change nothing.
#
# Both are one idea. A **mask** is a table of true and false, true where a query may look at a
# key. What it forbids gets no weight.
#
# ## The formulas
#
# With the mask $M$ (Vaswani et al. 2017, section 3.2.3: "masking out, setting to $-\infty$, all
# values in the input of the softmax which correspond to illegal connections"):
#
# $$\mathrm{scores}_{ij} = \frac{Q_i \cdot K_j}{\sqrt{d}} \;\text{ where } M_{ij},
# \text{ else } -\infty$$
#
# $$\mathrm{weights}_i = \mathrm{softmax}(\mathrm{scores}_i), \qquad
# Y_i = \sum_j \mathrm{weights}_{ij}\, V_j$$
#
# The softmax of $-\infty$ is exactly 0, and the weights of what is left sum to one. A row with
# **nothing to look at** has no softmax: 0 / 0 is NaN. Such a row gives zeros here.
#
# The two masks:
#
# $$\text{causal: } M_{ij} = (j \le i), \qquad \text{padding: } M_{bj} = (j < \text{length}_b)$$
#
# ## Shapes, step by step
#
# | step | shape | |
# | --- | --- | --- |
# | causal mask | (t, t) | rows are queries, columns are keys |
# | padding mask | (b, t) | one row a sample; as (b, 1, t) it is the same for every query |
# | scores | (b, q, s) | queries against keys, over √d |
# | mask | broadcasts to (b, q, s) | |
# | weights | (b, q, s) | 0 where the mask is false |
# | output | (b, q, w) | zeros where a row of the mask is all false |
#
# The two masks for t = 4, and for three samples of lengths 4, 2 and 0 (`#` is true):
#
# ```
#         keys                         positions
#         0 1 2 3                      0 1 2 3
#    q 0  # . . .         length 4     # # # #
#    u 1  # # . .         length 2     # # . .
#    e 2  # # # .         length 0     . . . .
#    r 3  # # # #
# ```
#
# The folded heads of exercise 3 have b*h rows, and head i of sample n is `n*h + i`. So a mask
# that differs between samples is repeated for the heads of each sample, one sample after the
# other:
#
# ```
#    mask of      sample 0   sample 1                          (b, t, t)
#    for rows     s0 h0   s0 h1   s1 h0   s1 h1                (b*h, t, t)
# ```
#
# ## Traps
#
# - **One too far.** `j < i` hides a position from itself, and leaves the first one nothing.
#   `j <= i + 1` shows the answer. Print the mask of t = 4 and compare it with the drawing.
# - **The mask upside down.** True means *may look* in this course. `masked_fill` fills where its
#   mask is true, so it needs the opposite; libraries disagree on this, so read their
#   documentation.
# - **Multiplied instead of filled.** Scores times 0 are 0, and the softmax of 0 is a weight like
#   others.
# - **Masked after the softmax.** The weights that are left no longer sum to one.
# - **A large negative number added.** Where the key is huge, $-10^9$ more changes little; and
#   where all that may be seen scores below $-10^9$, the padding wins. Fill with $-\infty$ in its
#   place.
# - **NaN in a row with nothing to see.** It spreads: through the next layer, and through the
#   gradients into all parameters. Repaired afterwards with `nan_to_num`, it stays in the
#   gradients where $-\infty$ was added to the scores, because NaN times 0 is NaN. Give the softmax
#   something finite, and take the weights away afterwards.
# - **Zero times infinity.** It is NaN. So no mask is multiplied with $-\infty$, and no number of
#   the padding, which may hold anything, with 0.
# - **The mask of another sample.** `mask.repeat(h, 1, 1)` gives the order s0 s1 s0 s1, and the
#   heads of sample 0 see by the mask of sample 1. All samples with one mask hide it.
# - **Keys and queries exchanged.** A padding mask forbids columns. Turned into rows (b, t, 1), it
#   silences the padded queries and leaves the padded keys.
# - **A mask as a plain number.** `mask == 0` and `~mask` differ for numbers: `~` of 1 is -2.
#   Masks are bool here.
# - **Lengths as positions.** A length is a count, so the last real token stands at length - 1:
#   compare with `<` and not with `<=`.
# - **The scale forgotten** when exercise 1's code is written anew: the scores are still divided
#   by the root of the width of one head.
#
# ## Further reading
#
# - Vaswani et al. 2017, [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762), section
#   3.2.3.
#
# ## Now write it
#
# Guess what your code will do: `grade try exercise8`. Check your work: `grade check exercise8`.

# %%
import math

import torch
from exercise3_multi_head import fold_heads, unfold_heads
from torch import Tensor, nn

# %% [markdown]
# ### `causal_mask(seq_len)`
#
# What may be looked at by whom when words are written from left to right.


# %%
def causal_mask(seq_len: int, *, device: torch.device | str | None = None) -> Tensor:
    """Return which keys each query may look at: those that are not after it.

    Shapes: returns (t, t) bool on `device`, true at [i, j] where j <= i.
    Source: Vaswani et al. 2017, section 3.2.3.

    Example: causal_mask(2) is [[True, False], [True, True]].
    """
    ### BEGIN SOLUTION
    positions = torch.arange(seq_len, device=device)  # (t,)
    mask = positions <= positions.unsqueeze(1)  # (t, t)
    return mask
    ### END SOLUTION


# %% [markdown]
# ### `padding_mask(lengths, max_len)`
#
# Where the real tokens are in a batch that was filled up to `max_len`.


# %%
def padding_mask(lengths: Tensor, max_len: int) -> Tensor:
    """Return where the real tokens stand.

    Shapes: lengths (b,) of any integer dtype that holds max_len; returns (b, max_len) bool, true at
    real tokens. A length of 0 gives a row of false. Raises ValueError where a length is greater
    than max_len.

    Example: padding_mask(torch.tensor([1, 2]), 3) is [[True, False, False], [True, True, False]].
    """
    ### BEGIN SOLUTION
    if (lengths > max_len).any():
        raise ValueError(f"a length is greater than max_len {max_len}")
    positions = torch.arange(max_len, device=lengths.device)  # (max_len,)
    mask = positions < lengths.unsqueeze(1)  # (b, max_len)
    return mask
    ### END SOLUTION


# %% [markdown]
# ### `masked_attention(query, key, value, mask)`
#
# Attention that looks only where it may.


# %%
def masked_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Return for each query the weighted mean of the values that it may look at.

    Shapes: query (b, q, d), key (b, s, d), value (b, s, w); mask bool, broadcasts to
    (b, q, s), true where a query may look; returns (b, q, w). A query that may look at
    nothing gets zeros. Scores are divided by the root of d.
    Source: Vaswani et al. 2017, sections 3.2.1 and 3.2.3.

    Example: query (2, 4, 3), key (2, 5, 3), value (2, 5, 6), mask (4, 5) give (2, 4, 6).
    """
    ### BEGIN SOLUTION
    hidden = ~mask
    scores = query @ key.transpose(-2, -1) / math.sqrt(key.size(-1))  # (b, q, s)
    masked_scores = scores.masked_fill(hidden, -math.inf)
    # the softmax of a row with nothing in it would be NaN, and so would its gradient
    masked_scores = masked_scores.masked_fill(hidden.all(dim=-1, keepdim=True), 0.0)
    weights = torch.softmax(masked_scores, dim=-1)
    weights = weights.masked_fill(hidden, 0.0)  # (b, q, s)
    output = weights @ value  # (b, q, w)
    return output
    ### END SOLUTION


# %% [markdown]
# ### `MaskedMultiHeadAttention(embed_dim, num_heads)`
#
# Exercise 3's module, with narrow heads and a mask.


# %%
class MaskedMultiHeadAttention(nn.Module):
    """Attend within a sequence with several narrow heads, each where the mask lets it.

    Modules: `to_queries`, `to_keys` and `to_values` (embed_dim -> embed_dim, without a bias) and
    `unify_heads` (embed_dim -> embed_dim, with a bias).
    Source: Vaswani et al. 2017, sections 3.2.2 and 3.2.3.
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        """Make the four layers; raises ValueError where num_heads does not divide embed_dim."""
        super().__init__()
        ### BEGIN SOLUTION
        if embed_dim % num_heads != 0:
            raise ValueError(f"{num_heads} heads cannot share embed_dim {embed_dim}")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim)
        ### END SOLUTION

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return for each position what its heads gathered, as one vector.

        Shapes: x (b, t, k); mask bool, (t, t), (1, t, t), (b, 1, t) or (b, t, t), the same for all
        heads, true where a position may be looked at; without one, everything may. Returns
        (b, t, k).

        Example: MaskedMultiHeadAttention(12, 3) takes x (2, 5, 12) and a mask (5, 5) to (2, 5, 12).
        """
        ### BEGIN SOLUTION
        b, t, _ = x.shape
        queries = self.to_queries(x)  # (b, t, k)
        keys = self.to_keys(x)  # (b, t, k)
        values = self.to_values(x)  # (b, t, k)

        folded_queries = fold_heads(queries, self.num_heads)  # (b*h, t, d)
        folded_keys = fold_heads(keys, self.num_heads)  # (b*h, t, d)
        folded_values = fold_heads(values, self.num_heads)  # (b*h, t, d)

        if mask is None:
            mask = torch.ones(t, t, dtype=torch.bool, device=x.device)
        seen = mask.expand(b, t, t).repeat_interleave(self.num_heads, dim=0)  # (b*h, t, t)
        attended = masked_attention(folded_queries, folded_keys, folded_values, seen)
        unfolded = unfold_heads(attended, self.num_heads)  # (b, t, k)
        output = self.unify_heads(unfolded)  # (b, t, k)
        return output
        ### END SOLUTION
