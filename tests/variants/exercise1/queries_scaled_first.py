"""The scale goes onto the queries before the product; scaled attention does not call attention_weights."""
import math

import torch


def attention_weights(query, key, scale=None):
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    query = query * scale
    return torch.matmul(query, key.transpose(1, 2)).softmax(-1)


def scaled_dot_product_attention(query, key, value, scale=None):
    batch, n_queries, dim = query.shape
    if scale is None:
        scale = 1 / math.sqrt(dim)
    query = query * scale
    attn = torch.matmul(query, key.transpose(1, 2)).softmax(-1)
    return torch.matmul(attn, value)


def self_attention(x):
    attn = torch.matmul(x, x.transpose(1, 2)).softmax(-1)
    return torch.matmul(attn, x)
