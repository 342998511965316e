"""Stand-in for exercise 1, made of Keras' own function."""

from keras import ops


def scaled_dot_product_attention(query, key, value):
    """Mix the values for each query: (b, q, d), (b, s, d) and (b, s, w) make (b, q, w)."""
    wide = [ops.expand_dims(part, axis=2) for part in (query, key, value)]  # one head
    return ops.squeeze(ops.dot_product_attention(*wide), axis=2)
