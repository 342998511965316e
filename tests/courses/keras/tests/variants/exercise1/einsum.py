"""Both products by einsum."""

from keras import ops


def scaled_dot_product_attention(query, key, value):
    scores = ops.einsum("bqd,bsd->bqs", query, key) / ops.sqrt(ops.cast(ops.shape(key)[-1], query.dtype))
    return ops.einsum("bqs,bsw->bqw", ops.softmax(scores, axis=-1), value)
