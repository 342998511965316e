"""A softmax of one's own: subtract the row maximum, exponentiate, divide by the row sum."""
import torch


def stable_softmax(scores):
    biggest, _ = scores.max(dim=-1, keepdim=True)
    exps = torch.exp(scores - biggest)
    return exps / exps.sum(dim=-1, keepdim=True)


def self_attention(x):
    return torch.matmul(stable_softmax(torch.matmul(x, x.transpose(-2, -1))), x)


def attention_weights(query, key, scale=None):
    scores = torch.matmul(query, key.transpose(-2, -1))
    if scale is not None:
        scores = scores * scale
    else:
        scores = scores / query.size(-1) ** 0.5
    return stable_softmax(scores)


def scaled_dot_product_attention(query, key, value, scale=None):
    return torch.matmul(attention_weights(query, key, scale), value)
