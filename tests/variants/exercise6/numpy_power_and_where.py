"""The whole table in numpy, sines and cosines chosen by np.where; then one step to torch."""
import numpy as np
import torch
from torch import nn


def sinusoidal_encoding(seq_len, embed_dim):
    rows = np.arange(seq_len)[:, np.newaxis]
    columns = np.arange(embed_dim)[np.newaxis, :]
    angles = rows / np.power(10000, 2 * (columns // 2) / embed_dim)
    table = np.where(columns % 2 == 0, np.sin(angles), np.cos(angles))
    return torch.from_numpy(table).to(torch.get_default_dtype())


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
