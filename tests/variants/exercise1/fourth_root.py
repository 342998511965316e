"""Queries and keys both divided by the fourth root of d before the product, to save memory."""
import torch
import torch.nn.functional as F


def attention_weights(query, key, *, scale=None):
    if scale is None:
        root = query.size(-1) ** (1 / 4)
        dot = torch.bmm(query / root, (key / root).transpose(1, 2))
    else:
        dot = torch.bmm(query, key.transpose(1, 2)) * scale
    return F.softmax(dot, dim=2)


def scaled_dot_product_attention(query, key, value, *, scale=None):
    out = torch.bmm(attention_weights(query, key, scale=scale), value)
    assert out.shape == (query.size(0), query.size(1), value.size(2))
    return out


def self_attention(x):
    b, t, k = x.size()
    dot = torch.bmm(x, x.transpose(1, 2))
    assert dot.size() == (b, t, t)
    return torch.bmm(F.softmax(dot, dim=2), x)
