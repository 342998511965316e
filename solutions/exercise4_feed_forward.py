# %% [markdown]
# # Exercise 4: the feed-forward network
#
# ## Before you begin
#
# - **You learn to** write the part of a layer that works on each position alone, with options that
#   are checked.
# - **You need** modules, as in exercise 2.
# - **Time:** 25 to 50 minutes, estimated from one part and about 10 lines.
# - **Difficulty:** 1 of 4.
#
# Calls that help:
#
# - `nn.ReLU()` and `nn.GELU()` are activations as modules. The argument `approximate` chooses the
#   form of the second.
# - `nn.Dropout(p)` is a module, so `model.train()` turns it on and `model.eval()` turns it off.
# - `raise ValueError("what is wrong")` ends a call whose arguments make no sense.
#
# ## What it is for
#
# Attention moves information between positions, but it does little with it: the output of a head is
# a mean of values, linear in them. The feed-forward network is where a position works on what it
# has gathered. It is a perceptron with one hidden layer, and each position passes through it
# **alone**, all with the same weights.
#
# It is plain, and it is big. At the size of bert-base (k = 768, hidden 3072) it has 4,722,432
# parameters; the attention beside it, biases included, has 2,362,368. Two thirds of a layer are
# here.
#
# ## The formulas
#
# With the activation $\phi$ (Vaswani et al. 2017, section 3.3, where it is the ReLU):
#
# $$\mathrm{FFN}(x) = W_2\, \phi(W_1 x + b_1) + b_2$$
#
# Two activations are offered:
#
# $$\mathrm{relu}(z) = \max(0, z), \qquad \mathrm{gelu}(z) = z\, \Phi(z)$$
#
# where $\Phi$ is the distribution function of the standard normal (Hendrycks & Gimpel 2016). The
# exact form is asked for, not the approximation with a hyperbolic tangent.
#
# ```
#      z       -2        -1         0         1         2
#     relu      0         0         0         1         2
#     gelu   -0.0455   -0.1587      0      0.8413    1.9545
# ```
#
# Dropout comes last. While training, it sets each number to zero with probability p and divides the
# rest by 1 - p, so that the mean is kept; in evaluation it does nothing (Srivastava et al. 2014).
#
# ## Shapes, step by step
#
# | step | shape | |
# | --- | --- | --- |
# | x | (b, t, k) | |
# | hidden | (b, t, f) | after the first linear layer; f is `hidden_dim`, else 4*k |
# | activated | (b, t, f) | number by number |
# | projected | (b, t, k) | after the second linear layer |
# | output | (b, t, k) | after dropout |
#
# ```
#     k            f              f             k            k
#     |   linear   |  activation  |   linear    |  dropout   |
#     o ---------> O -----------> O ----------> o ---------> o        once for each position,
#                                                                     no line between positions
# ```
#
# The names of your modules are free: the two linear layers are found by their shapes.
#
# ## Traps
#
# - **The activation at the wrong place.** Its place is between the two linear layers. At the end of
#   the stack nothing stands between them, and two linear maps in a row are one: the wide hidden
#   layer buys nothing. With ReLU the symptom is plain: the output has no negative numbers. This
#   order stands in published notebooks.
# - **The activation once more at the end.** The same symptom, and here too the output must go below
#   zero.
# - **The option unheard.** Build the block once with "relu" and once with "gelu" and give both the
#   same weights: the outputs must differ. An unknown name is a `ValueError`, and it is due when the
#   module is built, not when it is first called.
# - **The approximate GELU.** It differs from the exact one by up to 0.0005 in its tanh form,
#   and by up to 0.02 as x * sigmoid(1.702 x). That is too little to see in a loss curve and too
#   much for a comparison with a trained model.
# - **Dropout in evaluation.** The functional form does not know which mode the module is in unless
#   it is told. The symptom: two calls in evaluation mode differ.
# - **`hidden_dim` unheard.** Four times the width is the default, not the law.
# - **Adding x.** The skip connection belongs to the encoder layer (exercise 5). Added here as well,
#   it counts twice.
# - **The time axis joined in.** Flattening time and embedding, or normalizing over time, lets
#   positions mix. Change one position of the input: the output at all others must stay.
# - **In place.** An activation told to work in place is safe on a tensor of your own, and not on
#   the caller's.
#
# ## Further reading
#
# - Vaswani et al. 2017, [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762), section
#   3.3.
# - Hendrycks & Gimpel 2016, [*Gaussian Error Linear Units*](https://arxiv.org/abs/1606.08415).
# - Srivastava et al. 2014, [*Dropout: A Simple Way to Prevent Neural Networks from
#   Overfitting*](https://jmlr.org/papers/v15/srivastava14a.html).
#
# ## Now write it
#
# Guess what your code will do: `grade try exercise4`. Check your work: `grade check exercise4`.

# %%
from torch import Tensor, nn

# %% [markdown]
# ### `FeedForward(embed_dim)`
#
# Linear, activation, linear, dropout.


# %%
class FeedForward(nn.Module):
    """Transform each position by itself: linear, activation, linear, dropout.

    `hidden_dim` is 4 * embed_dim where none is given; `activation` is "relu" or "gelu" (exact).
    Both linear layers have a bias. Source: Vaswani et al. 2017, section 3.3.
    """

    def __init__(
        self,
        embed_dim: int,
        *,
        hidden_dim: int | None = None,
        dropout: float = 0.0,
        activation: str = "relu",
    ) -> None:
        """Make the layers.

        Raises ValueError for an activation other than "relu" and "gelu".
        """
        super().__init__()
        ### BEGIN SOLUTION
        if activation not in ("relu", "gelu"):
            raise ValueError(f'activation must be "relu" or "gelu", not {activation!r}')
        size = 4 * embed_dim if hidden_dim is None else hidden_dim
        self.expand = nn.Linear(embed_dim, size)
        self.activation = nn.ReLU() if activation == "relu" else nn.GELU()
        self.contract = nn.Linear(size, embed_dim)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Return the transformed positions; x itself is not added.

        Shapes: x (b, t, k); returns (b, t, k).

        Example: FeedForward(8, hidden_dim=20) takes x (2, 5, 8) to an output of shape (2, 5, 8).
        """
        ### BEGIN SOLUTION
        hidden = self.expand(x)  # (b, t, f)
        activated = self.activation(hidden)  # (b, t, f)
        projected = self.contract(activated)  # (b, t, k)
        output = self.dropout(projected)  # (b, t, k)
        return output
        ### END SOLUTION
