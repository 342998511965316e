"""Python floats for the frequencies behind lru_cache, a list of lists for the table."""
from functools import lru_cache
from math import cos, sin

import torch
from torch import nn


@lru_cache(maxsize=None)
def frequency(column, embed_dim):
    return 10_000 ** (-(column - column % 2) / embed_dim)


def sinusoidal_encoding(seq_len, embed_dim):
    waves = [sin, cos]
    return torch.tensor(
        [
            [waves[column % 2](pos * frequency(column, embed_dim)) for column in range(embed_dim)]
            for pos in range(seq_len)
        ]
    )


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.embed_dim = embed_dim
        self.encoding = nn.Buffer(sinusoidal_encoding(max_len, embed_dim))

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError(f"x has {x.size(1)} positions, max_len={self.max_len}")
        pieces = self.encoding.split([x.size(1), self.max_len - x.size(1)])
        return x + pieces[0]


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.position_embedding = nn.Embedding(max_len, embed_dim)

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError(f"x has {x.size(1)} positions, max_len={self.max_len}")
        positions = x.new_ones(x.size(1), dtype=torch.long).cumsum(0) - 1
        return x + self.position_embedding(positions)[None, :, :]
