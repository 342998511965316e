import torch
import torch.nn.functional as F


def self_attention(x):
    raw_weights = torch.bmm(x, x.transpose(1, 2))
    return torch.bmm(F.softmax(raw_weights, dim=2), x)


def attention_weights(query, key, scale=None):
    scores = torch.bmm(query, key.transpose(1, 2))
    if scale is not None:
        scores = scores * scale
    return F.softmax(scores, dim=2)


def scaled_dot_product_attention(query, key, value, scale=None):
    return torch.bmm(attention_weights(query, key, scale), value)
