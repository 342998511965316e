"""The learned vectors are a parameter, looked up by F.embedding; the sinusoids have an axis for the batch."""
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def sinusoidal_encoding(seq_len: int, embed_dim: int) -> Tensor:
    position = torch.arange(seq_len).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, embed_dim, 2) * (-math.log(10000.0) / embed_dim))
    pe = torch.zeros(seq_len, embed_dim)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term[: embed_dim // 2])
    return pe


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim: int, max_len: int):
        super().__init__()
        self.register_buffer("pe", sinusoidal_encoding(max_len, embed_dim)[None], persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        if length > self.pe.shape[1]:
            raise ValueError(f"{length} > {self.pe.shape[1]}")
        return x + self.pe[:, :length].expand_as(x)


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim: int, max_len: int):
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(max_len, embed_dim))

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        if length > len(self.embedding):
            raise ValueError(f"{length} > {len(self.embedding)}")
        return x + F.embedding(torch.arange(length, device=x.device), self.embedding)
