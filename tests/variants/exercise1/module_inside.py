"""An nn.Module does the work and the asked-for functions wrap one object of it."""
import torch
import torch.nn as nn


class DotProductAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.softmax = nn.Softmax(dim=-1)

    def weights(self, q, k, scale):
        return self.softmax(torch.matmul(q, k.transpose(-1, -2)) * scale)

    def forward(self, q, k, v, scale):
        return torch.matmul(self.weights(q, k, scale), v)


_attention = DotProductAttention()


def _scale_for(query, scale):
    return scale if scale is not None else 1 / (query.shape[-1] ** 0.5)


def self_attention(x):
    return _attention(x, x, x, 1)


def attention_weights(query, key, scale=None):
    return _attention.weights(query, key, _scale_for(query, scale))


def scaled_dot_product_attention(query, key, value, scale=None):
    return _attention(query, key, value, _scale_for(query, scale))
