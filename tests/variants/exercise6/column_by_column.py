"""Columns are filled one by one in a loop, as the formula reads."""
import torch
from torch import nn


def sinusoidal_encoding(seq_len, embed_dim):
    pos = torch.arange(0, seq_len, dtype=torch.get_default_dtype())
    table = torch.empty(seq_len, embed_dim)
    for i in range(0, embed_dim, 2):
        table[:, i] = torch.sin(pos / (10000 ** (i / embed_dim)))
        if i + 1 < embed_dim:
            table[:, i + 1] = torch.cos(pos / (10000 ** (i / embed_dim)))
    return table


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.register_buffer("pe", sinusoidal_encoding(max_len, embed_dim))

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError(f"{x.size(1)} positions, at most {self.max_len}")
        return x + self.pe[: x.size(1)]


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.embedding = nn.Embedding(max_len, embed_dim)

    def forward(self, x):
        if x.size(1) > self.embedding.num_embeddings:
            raise ValueError(f"{x.size(1)} positions, at most {self.embedding.num_embeddings}")
        return x + self.embedding(torch.arange(x.size(1), device=x.device))
