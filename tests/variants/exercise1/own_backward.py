"""A softmax with a derivative of its own."""

import torch


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores):
        parts = torch.exp(scores - scores.amax(-1, keepdim=True))
        weights = parts / parts.sum(-1, keepdim=True)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        return weights * (grad - (grad * weights).sum(-1, keepdim=True))


def attention_weights(query, key, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return Softmax.apply(scale * query @ key.swapaxes(-1, -2))


def scaled_dot_product_attention(query, key, value, scale=None):
    return attention_weights(query, key, scale=scale) @ value


def self_attention(x):
    return scaled_dot_product_attention(x, x, x, scale=1)
