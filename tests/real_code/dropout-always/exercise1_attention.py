import math

import torch
from torch.nn import functional as F


def self_attention(x):
    return torch.softmax(torch.bmm(x, x.transpose(1, 2)), dim=-1).bmm(x)


def attention_weights(query, key, *, scale=None):
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    return F.softmax(torch.bmm(query, key.transpose(1, 2)) * scale, dim=-1)


def scaled_dot_product_attention(query, key, value, *, scale=None):
    weights = attention_weights(query, key, scale=scale)
    return torch.bmm(F.dropout(weights, p=0.3), value)
