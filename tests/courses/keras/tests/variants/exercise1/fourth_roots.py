"""Queries and keys divided by the fourth root each."""

from keras import ops


def scaled_dot_product_attention(query, key, value):
    root = ops.shape(query)[-1] ** 0.25
    scores = ops.einsum("bqd,bsd->bqs", query / root, key / root)
    return ops.einsum("bqs,bsw->bqw", ops.softmax(scores), value)
