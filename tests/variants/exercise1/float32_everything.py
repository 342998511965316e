"""Casts whatever comes in to float32 and returns float32."""
# loses: property/dtype
import torch


def attention_weights(query, key, scale=None):
    q, k = query.float(), key.float()
    if scale is None:
        scale = 1 / torch.sqrt(torch.tensor(q.shape[-1], dtype=torch.float32))
    return torch.softmax(torch.bmm(q, k.transpose(1, 2)) * scale, dim=2)


def scaled_dot_product_attention(query, key, value, scale=None):
    return torch.bmm(attention_weights(query, key, scale), value.float())


def self_attention(x):
    x = x.to(torch.float32)
    return torch.bmm(torch.softmax(torch.bmm(x, x.transpose(1, 2)), dim=2), x)
