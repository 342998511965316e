# %% [markdown]
# # Exercise 7: a transformer that classifies
#
# ## Before you begin
#
# - **You learn to** build a whole model from parts, from token numbers to the probabilities of
#   classes.
# - **You need** exercises 3 to 6.
# - **Time:** 40 to 80 minutes, estimated from two parts and about 25 lines.
# - **Difficulty:** 2 of 4.
# - **Not allowed:** torch's own attention and encoder (`nn.MultiheadAttention`,
#   `nn.TransformerEncoder`). Build on your own parts.
#
# Calls that help:
#
# - `nn.Embedding(n, k)` looks up vectors of width k by whole numbers.
# - `x.mean(dim=0)` is the mean along an axis, and that axis is gone.
# - `torch.log_softmax(x, dim=0)` is the logarithm of a softmax, in one safe step.
# - `nn.Sequential(*layers)` runs modules in turn, and `nn.ModuleList(layers)` only holds them. Both
#   let an optimizer find them.
#
# ## What it is for
#
# Everything comes together: a review goes in as a sequence of token numbers, and out comes how
# probable each class is, "glad" or "cross", say. The encoder is a stack of the layers that you have
# written. Around it this exercise puts an entrance, which turns tokens into vectors that know their
# places, and an exit, which makes one verdict of many vectors.
#
# You write the model around a given encoder first, then a function that builds the whole from your
# own exercises 3 to 5.
#
# ## The formulas
#
# With the embedding tables $T$ (tokens) and $P$ (positions), for the positions $p = 0 \dots t - 1$:
#
# $$x_p = T[\mathrm{token}_p] + P[p], \qquad Z = \mathrm{encoder}(X), \qquad
# \bar z = \frac{1}{t} \sum_{p} z_p, \qquad y = \log \mathrm{softmax}(\mathrm{logits}(\bar z))$$
#
# Why the logarithm? Probabilities are multiplied over many samples and soon underflow; their
# logarithms are added. `nn.NLLLoss` expects just this, and taking softmax and logarithm in one step
# avoids the logarithm of a number that has rounded to zero.
#
# ## Shapes, step by step
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
#                                encoder            layer 1, layer 2, ..., layer `depth`
#                                   |
#                               encoded  (b, t, k)
#                                   |  mean over time
#                               pooled   (b, k)
#                                   |  to_logits
#                               logits   (b, c)
#                                   |  log-softmax over the classes
#                               log-probabilities (b, c)
# ```
#
# Take "time flies like an arrow" at the size of bert-base: five tokens of a vocabulary of 30522,
# looked up in a table of 30522 by 768, make a tensor (1, 5, 768); each layer keeps that shape; the
# mean over time makes it (1, 768).
#
# Names count here: `token_embedding`, `position_embedding`, `encoder` and `to_logits`.
#
# ## What `build_classifier` puts together
#
# `depth` layers, each with parts of its own:
#
# - multi-head attention with narrow heads and no projection bias (the defaults of exercise 3),
# - a feed-forward network with ReLU and a hidden width of 4*k (the defaults of exercise 4), with
#   `dropout`,
# - post-norm (the default of exercise 5), with `dropout`.
#
# Count your parameters. With a vocabulary of $v$ and at most $m$ positions there are
#
# $$(v + m)\, k + \mathrm{depth} \cdot (12 k^2 + 10 k) + (k + 1)\, c,$$
#
# so v = 1000, m = 50, k = 64, two layers and four classes make 167,044.
#
# ## Traps
#
# - **Probabilities, not their logarithms.** Probabilities are positive and sum to one; what the
#   last layer gives, before any softmax, does neither. Log-probabilities are never above zero, and
#   it is their exponentials that sum to one.
# - **Normalized twice.** If the best and the worst class come out nearly alike, a softmax was taken
#   before the log-softmax.
# - **Normalized over the batch.** The columns sum to one (after the exponential) and the rows do
#   not. A batch of one sample then gives all zeros.
# - **Pooled over the wrong axis, or not by the mean.** The mean runs over time. With t = k the
#   wrong axis fits. The first position alone, the sum and the maximum are other models.
# - **Pooled too late.** The mean of log-softmaxes is not the log-softmax of the mean.
# - **The order of words makes no difference.** Reverse a sentence: if the answer stays the same,
#   the positions never arrived.
# - **A device by accident.** A tensor made inside `forward` lives on the CPU unless it is told
#   where the tokens are. The error comes on the first day with an accelerator. This slip too stands
#   in published notebooks.
# - **Only full-length sentences work.** The positions of the sentence are wanted, not all there
#   are. More than `max_len` tokens is a `ValueError` that names both lengths.
# - **The encoder forgotten.** The model still learns something: it is a bag of words.
# - **Layers that nobody knows of.** In a plain Python list they are neither trained nor saved.
#   Compare the number of parameters.
# - **One layer, many times.** The same object repeated `depth` times shares its weights. Compare
#   the number of parameters here too.
#
# ## Further reading
#
# - Vaswani et al. 2017, [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762), sections
#   3.1 and 3.4.
# - Devlin et al. 2019, [*BERT: Pre-training of Deep Bidirectional
#   Transformers*](https://arxiv.org/abs/1810.04805), for an encoder at size.
# - Bloem 2019, *Transformers from scratch*, <https://peterbloem.nl/blog/transformers>, which builds
#   a classifier of this kind.
#
# ## Now write it
#
# Guess what your code will do: `grade try exercise7`. Check your work: `grade check exercise7`.

# %%
import torch
from exercise3_multi_head import MultiHeadSelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer
from torch import Tensor, nn

# %% [markdown]
# ### `TransformerClassifier(encoder, vocab_size, embed_dim, max_len, num_classes)`
#
# The entrance and the exit around a given encoder. `position_embedding` may be an embedding of
# `max_len` vectors, or the learned module of exercise 6.


# %%
class TransformerClassifier(nn.Module):
    """Classify sequences of tokens with a given encoder.

    `encoder` maps (b, t, k) to (b, t, k). Modules: `token_embedding` (vocab_size vectors),
    `position_embedding` (max_len vectors), `encoder`, `to_logits` (embed_dim -> num_classes, with a
    bias).
    Source: Vaswani et al. 2017, sections 3.1 and 3.4; learned positions as in Devlin et al. 2019.
    """

    def __init__(
        self, encoder: nn.Module, vocab_size: int, embed_dim: int, max_len: int, num_classes: int
    ) -> None:
        """Keep the encoder and make the layers around it."""
        super().__init__()
        ### BEGIN SOLUTION
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_len, embed_dim)
        self.encoder = encoder
        self.to_logits = nn.Linear(embed_dim, num_classes)
        ### END SOLUTION

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the log-probability of each class.

        Shapes: tokens (b, t), int64; returns (b, c), each row of whose exponential sums to one.
        Raises ValueError where t > max_len.

        Example: TransformerClassifier(nn.Identity(), 100, 8, 20, 3) takes (2, 5) to shape (2, 3).
        """
        ### BEGIN SOLUTION
        t = tokens.size(1)
        max_len = self.position_embedding.num_embeddings
        if t > max_len:
            raise ValueError(f"{t} tokens, but there are positions for {max_len} only")
        token_vectors = self.token_embedding(tokens)  # (b, t, k)
        positions = torch.arange(t, device=tokens.device)  # (t,)
        position_vectors = self.position_embedding(positions)  # (t, k)
        embedded = token_vectors + position_vectors  # (b, t, k)

        encoded = self.encoder(embedded)  # (b, t, k)
        pooled = encoded.mean(dim=1)  # (b, k)
        logits = self.to_logits(pooled)  # (b, c)
        log_probabilities = torch.log_softmax(logits, dim=1)  # (b, c)
        return log_probabilities
        ### END SOLUTION


# %% [markdown]
# ### `build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes)`
#
# The whole model, from your own parts.


# %%
def build_classifier(
    vocab_size: int,
    embed_dim: int,
    num_heads: int,
    depth: int,
    max_len: int,
    num_classes: int,
    *,
    dropout: float = 0.0,
) -> TransformerClassifier:
    """Build a classifier with `depth` post-norm encoder layers.

    Narrow heads without projection bias, ReLU, hidden width 4 * embed_dim; `dropout` in each
    feed-forward network and on the output of each sublayer. Raises ValueError where num_heads does
    not divide embed_dim. Source: Vaswani et al. 2017, section 3.1, the encoder.

    Example: build_classifier(1000, 64, 8, 2, 50, 4) takes tokens (3, 7) to shape (3, 4).
    """
    ### BEGIN SOLUTION
    layers = []
    for _ in range(depth):
        attention = MultiHeadSelfAttention(embed_dim, num_heads)
        feed_forward = FeedForward(embed_dim, dropout=dropout)
        layer = EncoderLayer(attention, feed_forward, embed_dim, dropout=dropout)
        layers.append(layer)
    encoder = nn.Sequential(*layers)
    return TransformerClassifier(encoder, vocab_size, embed_dim, max_len, num_classes)
    ### END SOLUTION
