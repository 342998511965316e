"""Stores nothing: the table is computed at each call, on the input's device and in its dtype."""
import torch
from torch import nn


def _encoding(seq_len, embed_dim, **options):
    positions = torch.arange(seq_len, **options)
    columns = torch.arange(embed_dim, **options)
    pair = torch.div(columns, 2, rounding_mode="floor")
    angles = positions[:, None] / 10000 ** (2 * pair / embed_dim)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos())


def sinusoidal_encoding(seq_len, embed_dim):
    return _encoding(seq_len, embed_dim, dtype=torch.get_default_dtype())


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.embed_dim = embed_dim
        self.max_len = max_len

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError(f"sequence of {x.size(1)} but max_len is {self.max_len}")
        return x + _encoding(x.size(1), self.embed_dim, dtype=x.dtype, device=x.device)


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.embedding = nn.Embedding(max_len, embed_dim)
        self.register_buffer("position_ids", torch.arange(max_len), persistent=False)

    def forward(self, x):
        if x.size(1) > self.position_ids.numel():
            raise ValueError(f"sequence of {x.size(1)} but max_len is {self.position_ids.numel()}")
        return x + self.embedding(self.position_ids[: x.size(1)])
