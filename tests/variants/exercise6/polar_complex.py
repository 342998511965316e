"""Sine and cosine as the parts of torch.polar(1, angle), interleaved by view_as_real and flip."""
import torch
from torch import Tensor, nn


def sinusoidal_encoding(seq_len: int, embed_dim: int) -> Tensor:
    exponents = torch.arange(0, embed_dim, 2, dtype=torch.get_default_dtype()) / embed_dim
    frequencies = 10000.0**-exponents
    angles = torch.outer(torch.arange(seq_len, dtype=frequencies.dtype), frequencies)
    on_circle = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_real(on_circle).flip(-1)  # (t, ceil(k/2), 2): sine, cosine
    return pairs.flatten(1)[:, :embed_dim]


class SinusoidalPositionEncoding(nn.Module):
    encoding: Tensor

    def __init__(self, embed_dim: int, max_len: int) -> None:
        super().__init__()
        self.register_buffer("encoding", sinusoidal_encoding(max_len, embed_dim))

    @property
    def max_len(self) -> int:
        return self.encoding.shape[0]

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-2] > self.max_len:
            raise ValueError(f"{x.shape[-2]} positions in an encoding of {self.max_len}")
        return torch.add(x, self.encoding[: x.shape[-2]])


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim: int, max_len: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(max_len, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        table = self.embedding.weight
        if x.shape[-2] > table.shape[0]:
            raise ValueError(f"{x.shape[-2]} positions in an embedding of {table.shape[0]}")
        return torch.add(x, table[: x.shape[-2]])
