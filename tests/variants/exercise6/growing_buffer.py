"""The table grows with the sentences, up to its limit; positions are looked up by one-hot rows."""

import math

import torch
from torch import nn
from torch.nn import functional


def sinusoidal_encoding(seq_len, embed_dim):
    def cell(position, column):
        wave = math.cos if column % 2 else math.sin
        return wave(position / 10000 ** ((column - column % 2) / embed_dim))

    rows = [[cell(p, c) for c in range(embed_dim)] for p in range(seq_len)]
    return torch.tensor(rows, dtype=torch.get_default_dtype())


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.register_buffer("table", torch.empty(0, embed_dim), persistent=False)

    def forward(self, x):
        t = x.shape[1]
        if t > self.max_len:
            raise ValueError(f"{t} positions, and {self.max_len} are allowed")
        if t > len(self.table):
            self.table = sinusoidal_encoding(t, x.shape[2]).to(x)
        return self.table[:t] + x


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.embedding = nn.Embedding(max_len, embed_dim)

    def forward(self, x):
        count, t = self.embedding.num_embeddings, x.shape[1]
        if t > count:
            raise ValueError(f"{t} positions, and {count} are trained")
        rows = functional.one_hot(torch.arange(t, device=x.device), count)
        return x + rows.to(x) @ self.embedding.weight
