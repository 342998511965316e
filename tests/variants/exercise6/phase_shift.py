"""A cosine is a sine a quarter turn later: one sine over all columns with a phase for the odd ones."""
from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def sinusoidal_encoding(seq_len: int, embed_dim: int) -> Tensor:
    columns = torch.arange(embed_dim)
    even = columns - columns % 2
    wavelengths = 10000.0 ** (even / embed_dim)
    phase = (columns % 2) * (math.pi / 2)
    positions = torch.arange(seq_len).unsqueeze(-1)
    return torch.sin(positions / wavelengths + phase)


class PositionModule(nn.Module):
    """What both kinds share: a table of max_len rows, cut to length and added."""

    def table(self) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        table = self.table()
        length = x.size(1)
        if length > table.size(0):
            raise ValueError(f"sequence length {length} > max_len {table.size(0)}")
        return x + table.narrow(0, 0, length)


class SinusoidalPositionEncoding(PositionModule):
    def __init__(self, embed_dim: int, max_len: int) -> None:
        super().__init__()
        self.register_buffer("sinusoids", sinusoidal_encoding(max_len, embed_dim))

    def table(self) -> Tensor:
        return self.sinusoids


class LearnedPositionEmbedding(PositionModule):
    def __init__(self, embed_dim: int, max_len: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(max_len, embed_dim)

    def table(self) -> Tensor:
        return self.embedding.weight
