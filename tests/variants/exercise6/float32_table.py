"""torch.arange(...).float() and a float32 position table, as copied from many tutorials."""
# loses: property/dtype
import math

import torch
from torch import nn


def sinusoidal_encoding(seq_len, embed_dim):
    position = torch.arange(seq_len).float().unsqueeze(1)
    div_term = torch.exp(torch.arange(0, embed_dim, 2).float() * -(math.log(10000.0) / embed_dim))
    pe = torch.zeros(seq_len, embed_dim, dtype=torch.float32)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)[:, : embed_dim // 2]
    return pe


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.register_buffer("pe", sinusoidal_encoding(max_len, embed_dim))

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError("too long")
        return x.float() + self.pe[: x.size(1)]


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.embedding = nn.Embedding(max_len, embed_dim, dtype=torch.float32)

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError("too long")
        return x.float() + self.embedding(torch.arange(x.size(1), device=x.device))
