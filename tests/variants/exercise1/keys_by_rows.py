"""Scores laid out with keys along the rows, softmax down the columns, then turned round: same answer."""
import torch
from torch import nn

_down_the_keys = nn.Softmax(dim=1)


def _columns(query, key, factor):
    scores = torch.bmm(key, query.transpose(1, 2)) * factor  # (b, t_k, t_q)
    return _down_the_keys(scores)


def attention_weights(query, key, scale=None):
    if scale is None:
        scale = query.size(-1) ** -0.5
    return _columns(query, key, scale).transpose(1, 2)


def scaled_dot_product_attention(query, key, value, scale=None):
    if scale is None:
        scale = query.size(-1) ** -0.5
    # (d_v, t_k) x (t_k, t_q), then back to (t_q, d_v)
    turned = torch.bmm(value.transpose(1, 2), _columns(query, key, scale))
    return turned.transpose(1, 2)


def self_attention(x):
    return torch.bmm(x.transpose(1, 2), _columns(x, x, 1.0)).transpose(1, 2)
