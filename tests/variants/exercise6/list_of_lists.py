"""Nested comprehensions with math.pow, and torch.tensor at the end; the table is made on the input's device."""
import math

import torch
from torch import nn


def angle(position, column, width):
    return position / math.pow(10000, (column - column % 2) / width)


def sinusoidal_encoding(seq_len, embed_dim):
    rows = [
        [(math.cos if j % 2 else math.sin)(angle(p, j, embed_dim)) for j in range(embed_dim)] for p in range(seq_len)
    ]
    return torch.tensor(rows)


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.rows = sinusoidal_encoding(max_len, embed_dim).tolist()

    def forward(self, x):
        if x.size(1) > len(self.rows):
            raise ValueError("too long")
        return x + torch.tensor(self.rows[: x.size(1)], dtype=x.dtype, device=x.device)


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.embedding = nn.Embedding(max_len, embed_dim)

    def forward(self, x):
        if x.size(1) > self.embedding.num_embeddings:
            raise ValueError(f"{x.size(1)} positions, at most {self.embedding.num_embeddings}")
        return x + self.embedding(torch.arange(x.size(1), device=x.device))
