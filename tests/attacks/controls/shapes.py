import torch


def self_attention(x):
    return x * 0.5


def attention_weights(query, key, scale=None):
    return query @ key.transpose(1, 2) * 0.5


def scaled_dot_product_attention(query, key, value, scale=None):
    return query @ key.transpose(1, 2) @ value * 0.5
