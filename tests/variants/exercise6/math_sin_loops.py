"""Two plain loops with math.sin and math.cos, one number at a time, as the paper prints it."""
import math

import torch
from torch import nn


def sinusoidal_encoding(seq_len, embed_dim):
    table = torch.zeros(seq_len, embed_dim)
    for pos in range(seq_len):
        for column in range(embed_dim):
            i = column // 2
            angle = pos / 10000 ** (2 * i / embed_dim)
            table[pos, column] = math.sin(angle) if column % 2 == 0 else math.cos(angle)
    return table


def check_length(x, max_len):
    if x.shape[1] > max_len:
        raise ValueError(f"got {x.shape[1]} positions, at most {max_len} are possible")


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.register_buffer("table", sinusoidal_encoding(max_len, embed_dim), persistent=False)

    def forward(self, x):
        check_length(x, self.max_len)
        return x + self.table[: x.shape[1]]


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.embedding = nn.Parameter(torch.randn(max_len, embed_dim) * 0.02)

    def forward(self, x):
        check_length(x, self.max_len)
        return x + self.embedding[: x.shape[1]]
