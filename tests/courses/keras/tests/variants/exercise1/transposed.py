"""Keys times queries, with everything turned."""

from keras import ops


def scaled_dot_product_attention(query, key, value):
    scores = ops.matmul(key, ops.transpose(query, [0, 2, 1])) / query.shape[-1] ** 0.5
    weights = ops.softmax(scores, axis=1)  # (b, s, q)
    return ops.matmul(ops.transpose(weights, [0, 2, 1]), value)
