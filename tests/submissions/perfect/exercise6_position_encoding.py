"""Sinusoids column by column, and learned positions."""

import torch
from torch import nn


def sinusoidal_encoding(seq_len, embed_dim):
    place = torch.arange(seq_len, dtype=torch.get_default_dtype())
    columns = []
    for column in range(embed_dim):
        angle = place / 10000 ** ((column - column % 2) / embed_dim)
        columns.append(angle.cos() if column % 2 else angle.sin())
    return torch.stack(columns, dim=1)


def _check(x, longest):
    if x.shape[1] > longest:
        raise ValueError(f"{x.shape[1]} positions are more than max_len={longest}")


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.register_buffer("table", sinusoidal_encoding(max_len, embed_dim))

    def forward(self, x):
        _check(x, len(self.table))
        return x + self.table[: x.shape[1]]


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.embedding = nn.Embedding(max_len, embed_dim)

    def forward(self, x):
        _check(x, self.embedding.num_embeddings)
        return x + self.embedding.weight[: x.shape[1]]
