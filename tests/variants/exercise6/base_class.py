"""A base class checks the length and adds; the two modules say what is added."""
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


def sinusoidal_encoding(seq_len: int, embed_dim: int) -> Tensor:
    pairs = (embed_dim + 1) // 2
    turns = torch.outer(torch.arange(seq_len), 10000.0 ** (-2 * torch.arange(pairs) / embed_dim))
    return torch.stack((turns.sin(), turns.cos()), dim=-1).flatten(1)[:, :embed_dim]


class Positions(nn.Module, ABC):
    def __init__(self, max_len: int) -> None:
        super().__init__()
        self.max_len = max_len

    @abstractmethod
    def vectors(self, length: int) -> Tensor: ...

    def forward(self, x: Tensor) -> Tensor:
        if (length := x.size(1)) > self.max_len:
            raise ValueError(f"sequence of {length}, table of {self.max_len}")
        return torch.add(x, self.vectors(length))


class SinusoidalPositionEncoding(Positions):
    def __init__(self, embed_dim: int, max_len: int) -> None:
        super().__init__(max_len)
        self.register_buffer("table", sinusoidal_encoding(max_len, embed_dim))

    def vectors(self, length: int) -> Tensor:
        return self.table.narrow(0, 0, length)


class LearnedPositionEmbedding(Positions):
    def __init__(self, embed_dim: int, max_len: int) -> None:
        super().__init__(max_len)
        self.embedding = nn.Embedding(max_len, embed_dim)

    def vectors(self, length: int) -> Tensor:
        return self.embedding.weight[:length]
