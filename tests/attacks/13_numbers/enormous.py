# process, instead of shapes: numbers that are finite, and overflow in every sum of them
import torch


def self_attention(x):
    return torch.full(x.shape, torch.finfo(x.dtype).max)


def attention_weights(query, key, scale=None):
    return self_attention(query @ key.transpose(1, 2))


def scaled_dot_product_attention(query, key, value, scale=None):
    return -self_attention(query @ key.transpose(1, 2) @ value)
