# %% [markdown]
# # Exercise 11: writing
#
# ## Before you begin
#
# - **You learn to** let a language model write, and spare it the work that it has done before.
# - **You need** exercises 3, 8 and 10.
# - **Time:** 70 to 140 minutes, estimated from three parts and about 50 lines.
# - **Difficulty:** 4 of 4.
# - **Not allowed:** torch's own attention (`F.scaled_dot_product_attention`,
#   `nn.MultiheadAttention`). You write it by hand.
#
# Calls that help:
#
# - `x.topk(3)` has the three largest numbers, in order, and where they stand.
# - `torch.cat([a, b], dim=0)` joins tensors along an axis that is there already.
# - `torch.multinomial(p, 1, generator=g)` draws one place from each row of probabilities.
# - `with torch.no_grad():` runs code for which no gradient will be asked.
# - `model.training` says which mode a model is in, and `model.train(mode)` sets it.
#
# ## What it is for
#
# A language model does one thing: it reads some tokens and gives each token of the vocabulary a
# score for being the next. To write, you ask it again and again. Turn the scores into
# probabilities, draw one token, put it behind the others, and ask for the one after it.
#
# Three parts are to be written, and each has something that is easily got wrong:
#
# - **From logits to probabilities.** Temperature and top-k decide how daring the writer is.
# - **Attention with a cache.** When one token is added, nothing before it changes: the keys and
#   values of all earlier positions can be kept, and only those of the new ones are computed.
# - **The loop**, which ends neither where the context is full nor with a model in another state.
#
# ## The formulas
#
# **Temperature** divides the logits $z$ before the softmax (Hinton et al. 2015, section 2):
#
# $$p_i = \frac{\exp(z_i / T)}{\sum_j \exp(z_j / T)}$$
#
# With $T = 1$ the model is taken at its word. A small $T$ stretches the differences, so the likely
# becomes likelier; a large one levels them. As $T$ goes to zero all goes to the largest logit. The
# formula has no value there, so **temperature 0 means: all probability on the largest**, and on the
# first of them where several are equal.
#
# ```
#     logits          2.0    1.0    0.0   -1.0
#     T = 1          0.644  0.237  0.087  0.032
#     T = 0.5        0.865  0.117  0.016  0.002      colder: nearly always the first
#     T = 2          0.455  0.276  0.167  0.102      warmer: the last has a chance
#     T = 0          1      0      0      0
#     T = 1, top 2   0.731  0.269  0      0          what is left sums to one again
# ```
#
# **Top-k** (Fan et al. 2018, section 5) lets only the `top_k` largest logits take part. The others
# get probability zero, and the rest sums to one. Where several are equal to the last that takes
# part, all of them stay; where `top_k` is larger than the vocabulary, everything does.
#
# **The cache.** In causal attention (exercise 8) position $i$ sees the positions $j \le i$. Nothing
# that comes later moves it. So when a sequence is given piece by piece, a position of the new piece
# needs the keys and values of everything before, which the pieces before have already made:
#
# ```
#                        keys of earlier pieces    keys of this piece
#                          0    1    2    3            4    5
#     query at place 4  [  x    x    x    x            x    .  ]
#     query at place 5  [  x    x    x    x            x    x  ]
#
#     cache that comes in:  keys and values of places 0 to 3
#     cache that goes out:  keys and values of places 0 to 5
# ```
#
# The row number of a query within its piece is not its place in the sequence: with p positions in
# the cache, query $i$ stands at place $p + i$, and sees the keys $j \le p + i$.
#
# ## Shapes, step by step
#
# | step | shape | |
# | --- | --- | --- |
# | x | (b, t, k) | one piece |
# | queries | (b, h, t, d) | of the piece alone |
# | keys, values | (b, h, p + t, d) | those in the cache, then the piece's |
# | weights | (b, h, t, p + t) | zero beyond a query's own place |
# | unfolded | (b, t, h*d) | heads side by side |
# | output | (b, t, k) | after `unify_heads` |
#
# And in the loop of `generate`:
#
# | step | shape | |
# | --- | --- | --- |
# | tokens | (b, t) | grows by one column each time |
# | in view | (b, at most max_len) | the last ones |
# | logits | (b, v) | of the last position |
# | drawn | (b, 1) | one token for each row |
#
# **A full context.** A model has positions up to `max_len` and no further. When there are more
# tokens, it sees the last `max_len` of them, and their positions start from zero again.
#
# ## Traps
#
# - **The temperature the wrong way round.** Multiplied, a cold setting writes wildly. Try 0.5 on
#   the table above.
# - **The temperature unheard.** Everything works, and 0.1 writes like 1. Zero is `False` in Python:
#   `temperature or 1.0` does not hear it either.
# - **Zero where minus infinity is due.** A logit of zero is an ordinary score: exp(0) = 1. What is
#   to have no chance needs $-\infty$ before the softmax.
# - **Probabilities that no longer sum to one.** Whoever cuts after the softmax has to divide by
#   what is left.
# - **The wrong ones are cut.** One too many or too few, the smallest in place of the largest, or
#   the limit of another row: count what is left in each row.
# - **Equals at the limit.** Indices of the largest drop one of two equals by chance; a comparison
#   with the last value that takes part keeps both.
# - **More than there is.** To ask for more of the largest than there are is an error, where all
#   should stay.
# - **The softmax over the batch.** Each row is one sample, and sums to one by itself.
# - **Places that start anew.** With a cache the mask is not square: it has a row for each query and
#   a column for each key, and the queries are the last ones. The symptom: single tokens attend to
#   the first position and to nothing else.
# - **A mask only at first.** One token at a time needs no mask, for there is nothing later. A piece
#   of several does, with a cache as without.
# - **The cache is not used, or not handed on whole.** Two pieces agree and the third does not: what
#   goes out has to hold what came in, old before new, keys and values both.
# - **The cache that was given is changed.** Whoever wants to try two continuations of one beginning
#   gives the same cache twice. A list that is appended to holds the first try by then.
# - **The scale, and the heads.** All that exercise 3 warns of: the root of one head's width, heads
#   and time that change places, the last layer.
# - **The beginning in view, not the end.** Cut on the wrong side, the model reads the same words
#   for ever and never sees what it wrote. Uncut, it fails when the context is full.
# - **The wrong position's logits.** What comes next is told at the last position.
# - **Too few, too many.** `num_tokens` are written behind the prompt; the prompt comes back too.
# - **Never drawn.** The largest taken each time is what temperature 0 is for. And each row has a
#   draw of its own.
# - **The generator unheard.** Whoever gives one wants the same text again tomorrow. Seeding torch
#   yourself gives everyone the same text always.
# - **The model comes back changed.** Dropout does not belong into writing, so set evaluation mode;
#   but training may go on afterwards: leave the mode that you found.
# - **An error that says `view size is not compatible`.** After two axes have changed places the
#   numbers no longer lie in order: `reshape` copies them.
#
# ## Further reading
#
# - Hinton et al. 2015, [*Distilling the Knowledge in a Neural
#   Network*](https://arxiv.org/abs/1503.02531), section 2 (temperature).
# - Fan et al. 2018, [*Hierarchical Neural Story Generation*](https://arxiv.org/abs/1805.04833),
#   section 5 (top-k).
# - Shazeer 2019, [*Fast Transformer Decoding: One Write-Head is All You
#   Need*](https://arxiv.org/abs/1911.02150), section 2.4 (keys and values kept while decoding).
#
# ## Now write it
#
# Guess what your code will do: `grade try exercise11`. Check your work: `grade check exercise11`.

# %%
import torch
from torch import Tensor, nn

# %% [markdown]
# ### `next_token_probabilities(logits, temperature=1.0, top_k=None)`
#
# How likely each token is to be written next.


# %%
def next_token_probabilities(
    logits: Tensor, *, temperature: float = 1.0, top_k: int | None = None
) -> Tensor:
    """Turn the logits of the next token into the probabilities that it is drawn with.

    Shapes: logits (b, v); returns (b, v), where each row sums to one.
    Temperature 0 puts everything on the largest logit, the first of equals. Only the `top_k`
    largest take part, and whatever equals the last of them; None lets all take part.
    Raises ValueError where the temperature is negative or `top_k` is less than 1.
    Source: Hinton et al. 2015, section 2; Fan et al. 2018, section 5.

    Example: logits [[2.0, 1.0, 0.0]] with top_k=2 give [[0.731, 0.269, 0.0]].
    """
    raise NotImplementedError


# %% [markdown]
# ### `CachedSelfAttention(embed_dim, num_heads)`
#
# Causal self-attention with several heads, which goes on where it stopped.


# %%
class CachedSelfAttention(nn.Module):
    """Attend causally within a sequence that comes whole or piece by piece.

    Modules: `to_queries`, `to_keys`, `to_values` (embed_dim -> embed_dim, without a bias) and
    `unify_heads` (embed_dim -> embed_dim, with a bias), as in exercise 3.
    Source: Vaswani et al. 2017, section 3.2; Shazeer 2019, section 2.4.
    """

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        """Make the four layers.

        Raises ValueError where num_heads does not divide embed_dim.
        """
        super().__init__()
        raise NotImplementedError

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return the output of this piece, and the cache for the next one.

        What is in the cache is up to you. The one that is given stays as it is, for it may be given
        again; None means that the sequence begins here.
        Shapes: x (b, t, k), any t; the output (b, t, k).

        Example: x (2, 5, 12) in pieces of 3 and 2 positions gives (2, 3, 12) and (2, 2, 12), which
        are the rows of the output for all 5 at once.
        """
        raise NotImplementedError


# %% [markdown]
# ### `generate(model, prompt, num_tokens)`
#
# Ask, draw, append, and ask again.


# %%
def generate(
    model: nn.Module,
    prompt: Tensor,
    num_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Let a model write `num_tokens` tokens behind each row of a prompt.

    The model maps tokens (b, t) to logits (b, t, v) and takes no more than `model.max_len` tokens:
    beyond that it sees the last ones. It writes in evaluation mode, is left in the mode in which
    it came, training or evaluation, and no gradients are kept.
    Tokens are drawn with `generator` where one is given, else with torch's own.
    Shapes: prompt (b, t) int64; returns (b, t + num_tokens) int64, which begins with the prompt.

    Example: a prompt (2, 3) and num_tokens=4 give tokens (2, 7).
    """
    raise NotImplementedError
