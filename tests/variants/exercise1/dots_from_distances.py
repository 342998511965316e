"""Dot products from squared lengths and distances, after |a - b|^2 = |a|^2 + |b|^2 - 2ab."""
import torch


def dots(a, b):
    gaps = (a[:, :, None, :] - b[:, None, :, :]).pow(2).sum(-1)
    return (a.pow(2).sum(-1)[:, :, None] + b.pow(2).sum(-1)[:, None, :] - gaps) / 2


def self_attention(x):
    return dots(x, x).softmax(2) @ x


def attention_weights(query, key, scale=None):
    d = query.size(2)
    return (dots(query, key) * (d**-0.5 if scale is None else scale)).softmax(2)


def scaled_dot_product_attention(query, key, value, scale=None):
    return attention_weights(query, key, scale) @ value
