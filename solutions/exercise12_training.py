# %% [markdown]
# # Exercise 12: learning
#
# ## Before you begin
#
# - **You learn to** write the step that trains every model, a learning rate that rises and falls,
#   and two models of your own parts that learn.
# - **You need** derivatives, and a model that gives a loss. The last two parts build on
#   exercises 3, 4, 5 and 10.
# - **Time:** 55 to 110 minutes, estimated from four parts and about 30 lines.
# - **Difficulty:** 2 of 4.
#
# Calls that help:
#
# - `math.cos(x)` and `math.pi` work on plain numbers, as this learning rate is one.
# - `optimizer.zero_grad()` forgets gradients, and `optimizer.step()` moves the parameters that it
#   holds.
# - `loss.backward()` adds its gradients to `.grad` of each parameter.
# - `nn.utils.clip_grad_norm_` shortens gradients in place. A final underscore says so.
# - `loss.item()` is the number in a tensor that has only one.
#
# ## What it is for
#
# A model of random parameters knows nothing. Training is one small step, done many thousand times:
# measure how wrong the model is on a few samples, ask for each parameter in which direction it gets
# less wrong, and move all of them a little that way. Everything before this exercise was about what
# a model computes; this one is about how it learns to.
#
# Four parts are to be written:
#
# - **How large a step is.** A transformer is trained with a learning rate that changes: small at
#   first, for its first gradients are wild; then large; then smaller and smaller.
# - **The step itself.** It has an order, and most programs that "train but do not learn" have it
#   wrong.
# - **Two models of your own parts.** One learns to read digits, the other to write English. They
#   are trained by the course's loop: `grade train exercise12`.
#
# ## The formulas
#
# **Warm-up and cosine.** Steps are counted from 0. During the first `warmup` steps the rate rises
# evenly to `peak`, so that step `warmup` - 1 is the first at the peak (Vaswani et al. 2017, section
# 5.3). Then it follows half a cosine down to `floor`, which is reached at step `total`, and kept
# from there on (Loshchilov and Hutter 2017, equation 5):
#
# $$\mathrm{rate} = \mathrm{peak} \cdot \frac{\mathrm{step} + 1}{\mathrm{warmup}}
#   \quad \text{where } \mathrm{step} < \mathrm{warmup}$$
#
# $$\mathrm{rate} = \mathrm{floor} + \frac{\mathrm{peak} - \mathrm{floor}}{2}
#   \left(1 + \cos\left(\pi \cdot
#   \frac{\mathrm{step} - \mathrm{warmup}}{\mathrm{total} - \mathrm{warmup}}\right)\right)
#   \quad \text{before } \mathrm{total}$$
#
# $$\mathrm{rate} = \mathrm{floor} \quad \text{from } \mathrm{total} \text{ on}$$
#
# With `warmup` 4, `total` 12, `peak` 1 and `floor` 0:
#
# ```
#     step     0     1     2     3     4     5      6      7     8    10     12    13
#     rate    0.25  0.5   0.75  1.0   1.0  0.962  0.854  0.691  0.5  0.146   0     0
#             |---- warm-up ----|     |------ half a cosine ------------|   | floor
# ```
#
# **Clipping by norm.** One strange batch can give a gradient a thousand times larger than usual,
# and one step along it destroys what was learned. So the gradient of all parameters together, taken
# as one long vector $g$, is shortened where it is longer than `max_norm` (Pascanu et al. 2013,
# algorithm 1):
#
# $$g \leftarrow g \cdot \min\left(1, \frac{\mathrm{max\_norm}}{\lVert g \rVert}\right)$$
#
# Its direction stays. One norm over all parameters: shortening each by itself turns the direction.
#
# ## The order of a step
#
# ```
#     forget old gradients      torch adds gradients up: what is left of the last step counts
#              |
#          the loss             loss_function(model, batch), a tensor of shape ()
#              |
#          backward             fills .grad of every parameter
#              |
#            clip               shortens .grad, all parameters together
#              |
#            step               moves the parameters by what is in .grad
# ```
#
# What comes back is the loss as a Python number: what it was before the parameters moved.
#
# ## Shapes, step by step
#
# | step | shape | |
# | --- | --- | --- |
# | loss | () | one number, with a graph behind it |
# | gradients | those of the parameters | filled by `backward` |
# | what comes back | a Python float | without a graph |
#
# ## What the models learn
#
# | | digits | text |
# | --- | --- | --- |
# | what comes in | pictures (b, 8, 8), numbers from 0 to 1 | letters (b, t), t up to 48, int64 |
# | what comes out | logits (b, 10) | logits (b, t, 64) |
# | from | scikit-learn's digits, moved and noisy | Python's language reference, 64 letters |
# | steps, samples a step | 2000, 32 | 1000, 16 |
# | what is due | 93 % right on digits not seen | 2.95 bits a letter on pages not seen |
#
# The loop is Adam with a rate that warms up to 0.003 and falls as a cosine, gradients clipped at 1,
# and the mean cross-entropy. Each takes well under a minute.
#
# Of a picture the eight rows can be the positions: a linear layer makes a vector of each, and a
# learned table says which row it is. A width of 48 and two layers are enough.
#
# The text model is exercise 10's; a width of 64, four heads and two blocks are enough. Without
# positions such a model comes to 3.34 bits, without attention to 3.51, without a mask to 3.78: the
# bar is for one that has all three. Tables of embeddings that begin with a variance of one keep it
# from learning: positions drown tokens. Begin with a standard deviation of 0.02 in both.
#
# ## Traps
#
# - **The first step does nothing.** With `step / warmup` in place of `(step + 1) / warmup` the rate
#   begins at zero.
# - **One step too many.** The warm-up has the steps 0 to `warmup - 1`. With `<=` step `warmup` lies
#   above the peak.
# - **The cosine begins before its time.** It runs from the end of the warm-up to `total`, so what
#   counts is `(step - warmup) / (total - warmup)`. Neither `step` nor `step - warmup` is divided by
#   `total` alone.
# - **A whole cosine.** With 2π in place of π the rate goes down and comes up again.
# - **The floor is forgotten.** It is where the cosine ends, not only what stands behind it: the
#   wave goes from the peak to the floor.
# - **After the end.** A cosine goes up again behind `total`; the rate stays at the floor.
# - **No warm-up at all.** With `warmup` 0 there is nothing to divide by, and the first step is
#   already the cosine's.
# - **Whole numbers.** `//` leaves zeros and ones of a share.
# - **Gradients add up.** Without `zero_grad` each step moves by the sum of all gradients so far.
#   The loss goes down for a while, and then it does not.
# - **Forgotten too late.** After `backward` there is nothing left to step with.
# - **Clipped too late.** After the step a short gradient is of no use.
# - **Each by itself.** `clip_grad_value_` cuts single numbers, and a loop over parameters shortens
#   each alone. Both turn the direction.
# - **The wrong length.** The norm is the root of the sum of all squares. And a gradient that is
#   short enough stays as it is: it is never made longer.
# - **The limit is not heard.** `max_norm` is an argument; 1.0 is only its default.
# - **The loss of afterwards.** Computed again behind the step it is another one, and costs twice.
# - **A tensor comes back.** Its graph keeps the memory of every step alive, as long as somebody
#   keeps the losses for a picture: `.item()` gives the number alone.
# - **It learns nothing.** Look at the loss in `grade train exercise12 --html page.html`: flat from
#   the first step means that no gradient comes through, or that tables began far too large. A text
#   model whose loss falls to nearly nothing sees the letters that it is to say: it has no mask.
# - **The model's mode.** A step leaves the model as it came, in training mode. Evaluation mode
#   switches dropout off, and the step would train another model.
#
# ## Further reading
#
# - Vaswani et al. 2017, [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762), section
#   5.3 (warm-up).
# - Loshchilov and Hutter 2017, [*SGDR: Stochastic Gradient Descent with Warm
#   Restarts*](https://arxiv.org/abs/1608.03983) (the cosine).
# - Pascanu et al. 2013, [*On the difficulty of training recurrent neural
#   networks*](https://arxiv.org/abs/1211.5063) (clipping).
#
# ## Now write it
#
# Guess what your code will do: `grade try exercise12`. Check it with `grade check exercise12`, and
# then `grade train exercise12`.

# %%
import math
from collections.abc import Callable

import torch
from exercise3_multi_head import MultiHeadSelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer
from exercise10_language_model import build_language_model
from torch import Tensor, nn

# %% [markdown]
# ### `learning_rate(step, warmup, total, peak, floor=0.0)`
#
# How large the step of that number is.


# %%
def learning_rate(step: int, *, warmup: int, total: int, peak: float, floor: float = 0.0) -> float:
    """Return the learning rate of a step: an even rise, half a cosine down, then the floor.

    Steps are counted from 0. Step `warmup` - 1 is the first at the peak; the floor is reached at
    step `total`.
    Source: Vaswani et al. 2017, section 5.3; Loshchilov and Hutter 2017, equation 5.

    Example: learning_rate(8, warmup=4, total=12, peak=1.0) is 0.5.
    """
    ### BEGIN SOLUTION
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    share = (step - warmup) / (total - warmup)
    wave = (1 + math.cos(math.pi * share)) / 2
    return floor + (peak - floor) * wave
    ### END SOLUTION


# %% [markdown]
# ### `training_step(model, optimizer, loss_function, batch, max_norm=1.0)`
#
# One step of training, from a batch to moved parameters.


# %%
def training_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_function: Callable[[nn.Module, Tensor], Tensor],
    batch: Tensor,
    *,
    max_norm: float = 1.0,
) -> float:
    """Move the parameters of a model once, and return the loss before that as a Python number.

    `loss_function(model, batch)` returns the loss, a tensor of shape (). The gradient of all
    parameters together is shortened to `max_norm` where it is longer. What gradients there were
    before does not count. The model is in training mode, and stays in it.
    Source: Pascanu et al. 2013, algorithm 1.

    Example: type(training_step(model, optimizer, loss_function, batch)) is float.
    """
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    loss = loss_function(model, batch)  # ()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()
    ### END SOLUTION


# %% [markdown]
# ### `build_digit_classifier()`
#
# A model of your own parts that learns to read digits. Write a class for it, and classes for its
# parts, as you like; how wide and how deep it is, is for you to say too.


# %%
def build_digit_classifier() -> nn.Module:
    """Build a model that maps images (b, 8, 8), numbers from 0 to 1, to logits (b, 10).

    Example: build_digit_classifier() takes (5, 8, 8) to shape (5, 10).
    """

    ### BEGIN SOLUTION
    class DigitClassifier(nn.Module):
        def __init__(self, embed_dim: int, num_heads: int, depth: int) -> None:
            super().__init__()
            self.embedding = nn.Linear(8, embed_dim)
            self.positions = nn.Parameter(torch.randn(8, embed_dim) * 0.02)
            self.encoder = nn.Sequential()
            for _ in range(depth):
                mixing = MultiHeadSelfAttention(embed_dim, num_heads)
                self.encoder.append(EncoderLayer(mixing, FeedForward(embed_dim), embed_dim))
            self.classes = nn.Linear(embed_dim, 10)

        def forward(self, images: Tensor) -> Tensor:
            rows = self.embedding(images) + self.positions  # (b, 8, k)
            encoded = self.encoder(rows)  # (b, 8, k)
            return self.classes(encoded.mean(dim=1))  # (b, 10)

    return DigitClassifier(48, 4, 2)
    ### END SOLUTION


# %% [markdown]
# ### `build_text_model(vocab_size)`
#
# A language model of your own parts that learns to write.


# %%
def build_text_model(vocab_size: int) -> nn.Module:
    """Build a model that maps up to 48 tokens (b, t) to the logits of the next, (b, t, vocab_size).

    Example: build_text_model(64) takes (5, 48) to shape (5, 48, 64).
    """
    ### BEGIN SOLUTION
    model = build_language_model(vocab_size, 64, 4, 2, 48)
    for table in (model.token_embedding, model.position_embedding):
        nn.init.normal_(table.weight, std=0.02)  # small, so that tokens are heard beside positions
    return model
    ### END SOLUTION
