import torch


def self_attention(x):
    scores = (x @ x.transpose(1, 2)).exp()
    return scores / scores.sum(-1, keepdim=True) @ x


def attention_weights(query, key, scale=None):
    scores = query @ key.transpose(1, 2)
    scores = scores.sqrt() if scale is None else scores * scale
    return torch.softmax(scores, dim=-1)


def scaled_dot_product_attention(query, key, value, scale=None):
    if scale is None:
        scale = query.shape[-1] ** -0.5
    return torch.softmax(query @ key.transpose(1, 2) * scale, dim=-1) @ value
