# %% [markdown]
# # Exercise 1: attention with `keras.ops`
#
# Attention gives each position a new vector: a weighted mean of values. A **query** says what a
# position looks for, a **key** says what a position offers, and a **value** is what it hands over.
#
# $$W = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}}\right), \qquad Y = W V$$
#
# Write it with `keras.ops`, which has the same names on every backend:
#
# - `ops.matmul(a, b)` multiplies the matrices of the last two axes. It does not transpose.
# - `ops.transpose(x, axes=[0, 2, 1])` puts the axes into a new order.
# - `ops.softmax(x, axis=-1)` makes weights of numbers. They sum to one along `axis`.
# - `ops.shape(x)` has the sizes of a tensor.
#
# | step | shape |
# | --- | --- |
# | query | (b, q, d) |
# | key | (b, s, d) |
# | value | (b, s, w) |
# | scores, weights | (b, q, s) |
# | output | (b, q, w) |
#
# ## Traps
#
# - **The softmax runs along the wrong axis.** Add up one row of the weights: a row is one query's,
#   and it sums to one.
# - **The root of the wrong number.** The d in the scale is the width that query and key share.
# - **The scale in the wrong place.** It belongs to the scores, before the softmax.
# - **`nan` for large scores.** The exponential of 800 is too large for a float. `ops.softmax` takes
#   care of it. A softmax by hand has to subtract the largest score first.
# - **reshape is no transpose.** `ops.reshape` keeps the order of the numbers. It does not turn rows
#   into columns.
# - **Nothing learns.** `ops.stop_gradient` and a way through NumPy cut the path of the gradients.
#
# Check your work with `grade check exercise1`.

# %%
from keras import ops


# %%
def scaled_dot_product_attention(query, key, value):
    """Mix the values, for each query, by how well the query fits each key.

    Shapes: query (b, q, d), key (b, s, d), value (b, s, w); returns (b, q, w).
    """
    ### BEGIN SOLUTION
    d = ops.shape(query)[-1]
    products = ops.matmul(query, ops.transpose(key, axes=[0, 2, 1]))  # (b, q, s)
    scores = products / d**0.5  # (b, q, s)
    weights = ops.softmax(scores, axis=-1)  # (b, q, s)
    output = ops.matmul(weights, value)  # (b, q, w)
    return output
    ### END SOLUTION
