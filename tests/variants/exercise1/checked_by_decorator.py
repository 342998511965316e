"""A decorator checks the ranks of the tensors before each function runs."""
import functools
import math
from typing import Callable

import torch


def batched(function: Callable) -> Callable:
    @functools.wraps(function)
    def wrapper(*tensors, **options):
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and tensor.dim() != 3:
                raise ValueError(f"{function.__name__} wants (batch, time, dim), got {tuple(tensor.shape)}")
        return function(*tensors, **options)

    return wrapper


@batched
def attention_weights(query, key, scale=None):
    if scale is None:
        scale = math.pow(query.size(-1), -0.5)
    return torch.softmax(torch.matmul(query, key.swapaxes(-1, -2)).mul(scale), -1)


@batched
def scaled_dot_product_attention(query, key, value, scale=None):
    return torch.matmul(attention_weights(query, key, scale=scale), value)


@batched
def self_attention(x):
    return torch.matmul(torch.softmax(torch.matmul(x, x.swapaxes(-1, -2)), -1), x)
