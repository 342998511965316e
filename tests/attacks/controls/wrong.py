import torch


def attack(output):
    return output


def self_attention(x):
    return attack(torch.softmax(x @ x.transpose(1, 2), dim=1) @ x)


def attention_weights(query, key, scale=None):
    scale = 1.0 if scale is None else scale
    return attack(torch.softmax(query @ key.transpose(1, 2) * scale, dim=-1))


def scaled_dot_product_attention(query, key, value, scale=None):
    return attack(attention_weights(query, key, scale) @ value)
