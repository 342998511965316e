# %% [markdown]
# # Exercise 9: the decoder layer
#
# ## Before you begin
#
# - **You learn to** write the layer that reads two sequences at once, and layer normalization by
#   hand.
# - **You need** exercises 3, 5 and 8.
# - **Time:** 65 to 130 minutes, estimated from three parts and about 50 lines.
# - **Difficulty:** 3 of 4.
# - **Not allowed:** torch's own attention and decoder (`F.scaled_dot_product_attention`,
#   `nn.MultiheadAttention`, `nn.TransformerDecoderLayer`); in `LayerNorm`, also torch's own norms
#   (`nn.LayerNorm`, `F.layer_norm`).
#
# Calls that help:
#
# - `nn.Parameter(x)` is a tensor that is trained, once it is an attribute of a module.
# - `x.mean(dim=0, keepdim=True)` leaves the axis in place, with size 1, so that it can be
#   subtracted from `x`.
# - `x.var(dim=0)` is a variance. Look up what its argument `correction` is where you give none.
# - `torch.ones(t, t, dtype=torch.bool, device=x.device)` is a mask that hides nothing.
#
# ## What it is for
#
# A translation is written word by word, and each new word depends on two sequences: on what has
# been written so far, and on the sentence that is translated. The **decoder** is the half of the
# transformer that writes. Its layer has three sublayers, and the one in the middle is new:
#
# - **Self-attention** looks at what is written so far. The mask of exercise 8 keeps it from
#   looking ahead.
# - **Cross-attention** looks at the other sequence, the **memory**: what the encoder made of the
#   sentence to be translated. Queries come from the decoder, keys and values from the memory.
# - The **feed-forward network** works at each position by itself, as before.
#
# Each has its skip connection and its layer norm. This time you write the norm by hand, too: a
# good part of those who do, in public code, write another function than the one they mean.
#
# ## The formulas
#
# Layer normalization works along the last axis (Ba et al. 2016, section 3):
#
# $$N(x) = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta, \qquad
# \mu = \frac{1}{k} \sum_{i} x_i, \qquad \sigma^2 = \frac{1}{k} \sum_{i} (x_i - \mu)^2$$
#
# $\gamma$ begins as ones and $\beta$ as zeros, so that a new norm only norms. The vector
# 1, 2, 3, 4 becomes -1.3416, -0.4472, 0.4472, 1.3416.
#
# Cross-attention, for $X$ of the decoder and the memory $E$, what the encoder made, in each head
# (Vaswani et al. 2017, section 3.2.3):
#
# $$Q = X W_Q, \qquad K = E W_K, \qquad V = E W_V, \qquad
# Y = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}}\right) V$$
#
# The layer, in pre-norm, with $S$ for self-attention, $C$ for cross-attention, $F$ for the
# feed-forward network, $D$ for dropout and $M$ for the causal mask:
#
# $$U = X + D(S(N_1(X), M)), \qquad Z = U + D(C(N_2(U), E)), \qquad Y = Z + D(F(N_3(Z)))$$
#
# ## Shapes, step by step
#
# Two lengths live side by side: t positions are being written, and the memory has s of them.
#
# | step | shape | |
# | --- | --- | --- |
# | x | (b, t, k) | what is being written |
# | memory | (b, s, k) | what is looked at |
# | memory mask | (b, s) | true where the memory has a real token |
# | queries | (b, t, k) | of x |
# | keys, values | (b, s, k) | of the memory |
# | weights of a head | (b, t, s) | one row a query, one column a place of the memory |
# | attended | (b, t, k) | as long as x, however long the memory is |
#
# ```
#                                      memory (b, s, k)
#       x (b, t, k)                          |
#       +-----------------+                  |
#     norm1               |                  |
#       |                 | skip             |
#     self-attention  <---|--- causal mask (t, t)
#     dropout             |                  |
#       |                 |                  |
#      (+) <--------------+                  |
#       +-----------------+                  |
#     norm2               |                  |
#       | queries         | skip             |
#     cross-attention  <--|------------------+ keys and values
#     dropout             |
#       |                 |
#      (+) <--------------+
#       +-----------------+
#     norm3               |
#       |                 | skip
#     feed-forward        |
#     dropout             |
#       |                 |
#      (+) <--------------+
#       |
#       y (b, t, k)
# ```
#
# ## Traps
#
# - **Divided by k - 1.** torch's `var` and `std` divide by k - 1 unless told otherwise. The vector
#   1, 2, 3, 4 would begin with -1.1619. The variance of a layer norm divides by k.
# - **Epsilon beside the root.** It is added to the variance, under the root, and not to the
#   standard deviation. Vectors whose numbers hardly differ show it.
# - **The wrong axis.** Each vector is normed by itself, over the last axis, whatever the number of
#   axes before it. Change one time step: no other row may move.
# - **The axis dropped.** A mean without `keepdim=True` has one axis less, and is subtracted from
#   other rows than its own, or from none.
# - **Two numbers in place of vectors.** Scale and shift are learned for each of the k components.
# - **Queries and memory exchanged.** The output is as long as x. Give the two sequences different
#   lengths: whoever mixes them up gets an error, or an output of the wrong length.
# - **Cross-attention that looks at itself.** Pasted from self-attention, with keys and values of x.
#   Change the memory: the output has to move.
# - **The memory's padding.** The mask (b, s) forbids columns, for every head and every query. As
#   (b, 1, s) it does so for the queries; for the folded heads of exercise 3 it is repeated, s0 s0
#   s1 s1 and not s0 s1 s0 s1. Zeroing the padded memory is not enough: a score of 0 still gets a
#   weight.
# - **No memory at all.** Where all is padding, the heads gather zeros, and not NaN. `unify_heads`
#   then adds its bias as always.
# - **The causal mask.** It belongs to self-attention alone: the whole memory is there from the
#   start. And it has to be made on the device of x, as long as x is.
# - **The memory normed again.** `norm2` is for the queries' side. The memory comes as it is.
# - **A skip forgotten, or from the wrong place.** Give the layer sublayers that return zeros: it
#   must return its input, number by number. With sublayers that return ones, three are added.
# - **One norm in several places,** or two exchanged. New norms are all alike, so the mistake is
#   invisible until they are trained. The grader gives them random numbers.
# - **Dropout on the sum.** It falls on each sublayer's output, before the sum, and nowhere else.
#
# ## Further reading
#
# - Vaswani et al. 2017, [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762), sections
#   3.1 and 3.2.3.
# - Ba et al. 2016, [*Layer Normalization*](https://arxiv.org/abs/1607.06450).
# - Xiong et al. 2020, [*On Layer Normalization in the Transformer
#   Architecture*](https://arxiv.org/abs/2002.04745), for pre-norm.
#
# ## Now write it
#
# Guess what your code will do: `grade try exercise9`. Check your work: `grade check exercise9`.

# %%
import torch
from exercise3_multi_head import fold_heads, unfold_heads
from exercise8_masks import causal_mask, masked_attention
from torch import Tensor, nn

# %% [markdown]
# ### `LayerNorm(embed_dim)`
#
# By hand: torch's own is forbidden here, and allowed in `DecoderLayer`.


# %%
class LayerNorm(nn.Module):
    """Bring each vector to mean 0 and variance 1, then scale and shift each component.

    Parameters: `weight` (embed_dim,), which begins as ones, and `bias` (embed_dim,), which begins
    as zeros. The variance divides by embed_dim; `eps` is added to it, under the root.
    Source: Ba et al. 2016, section 3.
    """

    def __init__(self, embed_dim: int, *, eps: float = 1e-5) -> None:
        """Make the two parameters."""
        super().__init__()
        ### BEGIN SOLUTION
        self.weight = nn.Parameter(torch.ones(embed_dim))
        self.bias = nn.Parameter(torch.zeros(embed_dim))
        self.eps = eps
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Norm x along its last axis.

        Shapes: x (b, t, k), or any other that ends in k; returns the same shape.

        Example: LayerNorm(4) takes [1, 2, 3, 4] to [-1.3416, -0.4472, 0.4472, 1.3416].
        """
        ### BEGIN SOLUTION
        mean = x.mean(dim=-1, keepdim=True)  # (b, t, 1)
        centred = x - mean
        variance = centred.square().mean(dim=-1, keepdim=True)  # (b, t, 1)
        normed = centred / torch.sqrt(variance + self.eps)  # (b, t, k)
        output = self.weight * normed + self.bias
        return output
        ### END SOLUTION


# %% [markdown]
# ### `CrossAttention(embed_dim, num_heads)`
#
# Exercise 3's module, with narrow heads, between two sequences.


# %%
class CrossAttention(nn.Module):
    """Attend from one sequence to another with several narrow heads.

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

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        """Return for each position of x what its heads gathered from the memory, as one vector.

        Shapes: x (b, t, k); memory (b, s, k); memory_mask (b, s) bool, true where the memory may
        be looked at; without one, all of it may. Where nothing may, the heads gather zeros.
        Returns (b, t, k).

        Example: CrossAttention(12, 3) takes x (2, 5, 12) and memory (2, 7, 12) to (2, 5, 12).
        """
        ### BEGIN SOLUTION
        b, s, _ = memory.shape
        queries = self.to_queries(x)  # (b, t, k)
        keys = self.to_keys(memory)  # (b, s, k)
        values = self.to_values(memory)  # (b, s, k)

        folded_queries = fold_heads(queries, self.num_heads)  # (b*h, t, d)
        folded_keys = fold_heads(keys, self.num_heads)  # (b*h, s, d)
        folded_values = fold_heads(values, self.num_heads)  # (b*h, s, d)

        if memory_mask is None:
            memory_mask = torch.ones(b, s, dtype=torch.bool, device=memory.device)
        seen = memory_mask.unsqueeze(1).repeat_interleave(self.num_heads, dim=0)  # (b*h, 1, s)
        attended = masked_attention(folded_queries, folded_keys, folded_values, seen)
        unfolded = unfold_heads(attended, self.num_heads)  # (b, t, k)
        output = self.unify_heads(unfolded)  # (b, t, k)
        return output
        ### END SOLUTION


# %% [markdown]
# ### `DecoderLayer(self_attention, cross_attention, feed_forward, embed_dim)`
#
# Three given sublayers, three skips, three norms.


# %%
class DecoderLayer(nn.Module):
    """Join self-attention, cross-attention and a feed-forward network, in pre-norm.

    The sublayers are given: `self_attention(x, mask)` with a mask (t, t),
    `cross_attention(x, memory, memory_mask)` and `feed_forward(x)` each return x's shape
    (b, t, k). Modules: `self_attention`, `cross_attention`, `feed_forward`, and `norm1`, `norm2`
    and `norm3` (layer norms over embed_dim, eps 1e-5; yours or torch's). `dropout` falls on the
    output of each sublayer.
    Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020, section 3 (pre-norm).
    """

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        feed_forward: nn.Module,
        embed_dim: int,
        *,
        dropout: float = 0.0,
    ) -> None:
        """Keep the sublayers and make the norms."""
        super().__init__()
        ### BEGIN SOLUTION
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.norm1 = LayerNorm(embed_dim)
        self.norm2 = LayerNorm(embed_dim)
        self.norm3 = LayerNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        """Pass x through the three sublayers; position i sees the positions of x up to i.

        Shapes: x (b, t, k); memory (b, s, k); memory_mask (b, s) bool, true where the memory may
        be looked at; returns (b, t, k).

        Example: with sublayers of width 12, x (2, 5, 12) and memory (2, 7, 12) give (2, 5, 12).
        """
        ### BEGIN SOLUTION
        mask = causal_mask(x.size(1), device=x.device)  # (t, t)
        self_attention_input = self.norm1(x)
        attended = self.self_attention(self_attention_input, mask)
        self_attention_sum = x + self.dropout(attended)

        cross_attention_input = self.norm2(self_attention_sum)
        crossed = self.cross_attention(cross_attention_input, memory, memory_mask)
        cross_attention_sum = self_attention_sum + self.dropout(crossed)

        feed_forward_input = self.norm3(cross_attention_sum)
        transformed = self.feed_forward(feed_forward_input)
        output = cross_attention_sum + self.dropout(transformed)
        return output
        ### END SOLUTION
