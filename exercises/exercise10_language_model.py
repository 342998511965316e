# %% [markdown]
# # Exercise 10: a language model
#
# ## Before you begin
#
# - **You learn to** write the loss of a language model, and build the model from your own parts.
# - **You need** your code of exercises 3, 4 and 8, and what exercises 5 and 7 tell of pre-norm and
#   of embeddings.
# - **Time:** 60 to 120 minutes, estimated from three parts and about 40 lines.
# - **Difficulty:** 3 of 4.
# - **Not allowed:** torch's own attention and encoder (`nn.MultiheadAttention`,
#   `nn.TransformerEncoder`). Build on your own parts.
#
# Calls that help:
#
# - `x[:, 1:]` leaves out the first place of each row, and `x[:, :-1]` the last one.
# - `x[mask]` picks the rows where a mask is true.
# - `nn.functional.cross_entropy(logits, targets)` is the mean loss of logits (n, v) for targets
#   (n,).
# - `x.gather(1, index)` picks one number of each row, or several.
# - A parameter that two places use is one parameter: its gradients add up.
#
# ## What it is for
#
# A language model reads a text and says, at every place, how probable each token is to come next.
# That is all that is asked of it, and it is enough to learn spelling, grammar and a good deal about
# the world: whoever predicts the next word well has understood something of those before it.
#
# You write the loss first, then the model around a given decoder, then a function that builds the
# whole from your own exercises 4 and 8.
#
# ## The formulas
#
# A text of $t$ tokens has $t - 1$ predictions that can be checked. The logits $z_p$ are computed
# from the tokens at the places 0 to $p$, and tell of the token that follows them:
#
# $$\mathrm{loss} = -\frac{1}{n} \sum_{\text{samples}} \; \sum_{p=0}^{\text{length} - 2}
# \log \mathrm{softmax}(z_p)[\mathrm{token}_{p+1}]$$
#
# where $n$ counts the terms: samples are of several lengths, and all their real tokens count alike.
#
# With the tables $T$ (tokens) and $P$ (positions), the model is
#
# $$x_p = T[\mathrm{token}_p] + P[p], \qquad H = \mathrm{norm}(\mathrm{decoder}(X)),
# \qquad z_p = T h_p.$$
#
# The table $T$ is used twice: to read tokens, and to compare what comes out with each of them. It
# is one parameter, which gets the gradients of both uses.
#
# ## Shapes, step by step
#
# The loss shifts by one. With t = 5 and a sample of four real tokens and one that is padding:
#
# ```
#     logits      z0    z1    z2    z3   z4          (b, t, v)
#                   \     \     \     \
#     tokens   the   cat   sat   up   pad            (b, t)
#
#     predictions    z0    z1    z2    z3            (b, t - 1, v)   all but the last
#     targets        cat   sat   up   pad            (b, t - 1)      all but the first
#     real          yes   yes   yes    no            (b, t - 1)
# ```
#
# The model:
#
# ```
#     tokens  (b, t)  int64
#        |
#        |  token_embedding              position_embedding
#        v                                      |
#     token_vectors (b, t, k)  --- (+) ---  position_vectors (t, k)
#                                   |
#                               embedded (b, t, k)
#                                   |
#                                decoder            it may look back, and never ahead
#                                   |
#                               decoded  (b, t, k)
#                                   |  norm
#                               hidden   (b, t, k)
#                                   |  times the token embedding's table, (v, k)
#                               logits   (b, t, v)
# ```
#
# The smallest GPT-2 has a table of 50257 by 768: 38.6 million numbers, which would be there twice
# if they were not tied.
#
# Names count here: `token_embedding`, `position_embedding`, `decoder` and `norm`.
#
# ## The first loss
#
# A model that knows nothing should find all tokens alike, so its loss should be near $\log v$. Look
# at the first loss before you train anything. Tied weights with torch's own start (variance one)
# give logits of variance $k$, and a first loss far above: the model is sure of what it cannot
# know. Many models draw the table with a standard deviation of 0.02 for this reason:
# `nn.init.normal_(table, std=0.02)`. The positions' table is small in them, too: beside vectors of
# variance one, tokens of 0.02 are not heard. Neither is graded here; training will be glad of both.
#
# ## Traps
#
# - **Nothing is shifted.** If logits and tokens stand at the same place, the model is asked for the
#   token that it has just read. The loss falls to zero in no time: the model learns to copy.
# - **Shifted the wrong way, or twice.** The logits at place p tell of the token at p + 1. Write the
#   two rows below each other for a text of three tokens.
# - **Padding counts.** Padded places are no text. A sample of n real tokens has n - 1 targets: the
#   last real token predicts nothing that is known.
# - **A zero does not save you.** Where a padded place holds an infinite number, its loss is
#   infinite or NaN, and NaN times zero is NaN. Leave such places out, before or after.
# - **Token 0 is a token.** Which places are padded is told by `lengths`, and by no token.
# - **Another mean.** The mean runs over all real targets. The mean of each sample's mean gives
#   short samples more than their share; a sum grows with the batch; dividing by all places counts
#   padding.
# - **A loss of nothing.** The mean of no numbers is NaN, which spoils the weights for good. No
#   target at all is a `ValueError`.
# - **Softmax twice.** `F.cross_entropy` takes logits and normalizes by itself.
# - **The classes' axis.** `F.cross_entropy` wants classes second: (b, v, t). That is a transpose;
#   a `view` with these sizes takes the numbers apart in another order.
# - **The logarithm of a softmax.** Where a probability has rounded to zero its logarithm is
#   infinite. `log_softmax` takes both steps at once.
# - **Two tables.** A linear layer of its own is not tied, and neither is a copy of the table. The
#   number of parameters tells it, and so does a step of training: both have to change alike.
# - **A last norm.** Pre-norm layers normalize what they read and not what they return, so the last
#   layer's output needs a norm. It stands behind the decoder, not before it.
# - **Only texts of full length work.** The positions of the text are wanted, not all there are.
#   More than `max_len` tokens is a `ValueError` that names both lengths.
# - **Positions that go wrong.** Without them the order of words is lost; they count from zero,
#   along time, and live where the tokens live.
# - **Looking ahead.** Change the last token: the logits before it must stay as they are. Else the
#   model reads the answer off the text, and the loss looks wonderful.
# - **One block, many times.** The same object repeated `depth` times shares its weights, and
#   blocks in a plain Python list are neither trained nor saved. Compare the number of parameters.
#
# ## Further reading
#
# - Radford et al. 2019, [*Language Models are Unsupervised Multitask
#   Learners*](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf)
#   (GPT-2): learned positions, pre-norm blocks and a last norm (section 2.3).
# - Press and Wolf 2017, [*Using the Output Embedding to Improve Language
#   Models*](https://arxiv.org/abs/1608.05859), for tied weights.
# - Vaswani et al. 2017, [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762), section
#   3.4.
# - Bengio et al. 2003, [*A Neural Probabilistic Language
#   Model*](https://jmlr.org/papers/v3/bengio03a.html), where it began.
#
# ## Now write it
#
# Guess what your code will do: `grade try exercise10`. Check your work: `grade check exercise10`.

# %%
import torch
from exercise4_feed_forward import FeedForward
from exercise8_masks import MaskedMultiHeadAttention, causal_mask
from torch import Tensor, nn

# %% [markdown]
# ### `next_token_loss(logits, tokens, lengths=None)`
#
# How surprised the model is by the token that came, in the mean.


# %%
def next_token_loss(logits: Tensor, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Return the mean cross-entropy of each token given those before it.

    Shapes: logits (b, t, v), tokens (b, t), lengths (b,), integers; returns a tensor of shape ().
    The first lengths[i] tokens of sample i are real, all of them without `lengths`. Only real
    tokens are targets; padded places may hold any token and any number, infinite ones too.
    Raises ValueError where there is no target at all.
    Source: Bengio et al. 2003, section 2.

    Example: logits (2, 5, 100) and tokens (2, 5) have eight targets.
    """
    raise NotImplementedError


# %% [markdown]
# ### `LanguageModel(decoder, vocab_size, embed_dim, max_len)`
#
# The entrance and the exit around a given decoder. The output has no layer of its own: it takes the
# token embedding's table, without a bias.


# %%
class LanguageModel(nn.Module):
    """Predict the next token at every place, with a given decoder.

    `decoder` maps (b, t, k) to (b, t, k). Modules: `token_embedding` (vocab_size vectors, of the
    output too), `position_embedding` (max_len vectors), `decoder`, `norm` (a layer norm, eps 1e-5).
    Source: Radford et al. 2019, section 2.3; Press and Wolf 2017.
    """

    def __init__(self, decoder: nn.Module, vocab_size: int, embed_dim: int, max_len: int) -> None:
        """Keep the decoder and make the layers around it."""
        super().__init__()
        self.max_len = max_len
        raise NotImplementedError

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of the next token at every place.

        Shapes: tokens (b, t), int64; returns (b, t, v). Raises ValueError where t > max_len.

        Example: LanguageModel(nn.Identity(), 100, 8, 20) takes (2, 5) to shape (2, 5, 100).
        """
        raise NotImplementedError


# %% [markdown]
# ### `build_language_model(vocab_size, embed_dim, num_heads, depth, max_len)`
#
# The whole model, from your own parts. You need a block of two sublayers: masked attention, which
# sees the tokens so far, and the feed-forward network. Both are pre-norm, with a skip around:
#
# - x ← x + drop(attention(norm1(x), mask)),
# - x ← x + drop(feed_forward(norm2(x))).
#
# All norms are layer norms with torch's eps, 1e-5: torch's own or yours.
#
# `depth` blocks one after the other are the decoder. The heads are narrow, the feed-forward network
# has ReLU and a hidden width of 4*k (the defaults of exercise 4), `dropout` acts in it and on each
# sublayer's output. Count your parameters:
#
# $$(v + m)\, k + \mathrm{depth} \cdot (12 k^2 + 10 k) + 2 k,$$
#
# so v = 1000, m = 50, k = 64 and two blocks make 166,912.


# %%
class Block(nn.Module):
    """Masked attention and a feed-forward network, both pre-norm.

    It is not graded by itself: name it and its layers as you like, or do without it.
    Source: Radford et al. 2019, section 2.3.
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float) -> None:
        """Make the sublayers and their norms."""
        super().__init__()
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of x's shape (b, t, k).

        Example: Block(8, 2, 0.0) takes (3, 7, 8) to shape (3, 7, 8).
        """
        raise NotImplementedError


def build_language_model(
    vocab_size: int,
    embed_dim: int,
    num_heads: int,
    depth: int,
    max_len: int,
    *,
    dropout: float = 0.0,
) -> LanguageModel:
    """Build a language model with `depth` pre-norm blocks of causal attention.

    Narrow heads, ReLU, hidden width 4 * embed_dim; `dropout` in each feed-forward network and on
    the output of each sublayer. Raises ValueError where num_heads does not divide embed_dim.
    Source: Radford et al. 2019, section 2.3.

    Example: build_language_model(1000, 64, 8, 2, 50) takes tokens (3, 7) to shape (3, 7, 1000).
    """
    raise NotImplementedError
