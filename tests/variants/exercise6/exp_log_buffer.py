"""The PyTorch tutorial's formula, exp of the log frequencies, with the table in a buffer."""
import math

import torch
import torch.nn as nn


def sinusoidal_encoding(seq_len, embed_dim):
    position = torch.arange(seq_len, dtype=torch.get_default_dtype()).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, embed_dim, 2) * (-math.log(10000.0) / embed_dim))
    pe = torch.zeros(seq_len, embed_dim)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term[: embed_dim // 2])
    return pe


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.register_buffer("pe", sinusoidal_encoding(max_len, embed_dim).unsqueeze(0))

    def forward(self, x):
        t = x.size(1)
        if t > self.pe.size(1):
            raise ValueError("the sequence is longer than max_len")
        return x + self.pe[:, :t]


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.embedding = nn.Embedding(max_len, embed_dim)

    def forward(self, x):
        t = x.size(1)
        if t > self.max_len:
            raise ValueError("the sequence is longer than max_len")
        positions = torch.arange(t, device=x.device)
        return x + self.embedding(positions)
