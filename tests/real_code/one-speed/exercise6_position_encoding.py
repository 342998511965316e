import torch
import torch.nn as nn


def sinusoidal_encoding(seq_len, embed_dim):
    table = torch.zeros(seq_len, embed_dim, dtype=torch.float)
    pos = torch.arange(0, seq_len, dtype=torch.float).unsqueeze(1)
    index = torch.arange(0, embed_dim, 2)
    speed = 10000 ** (-(2 * (torch.arange(embed_dim) // 2) // embed_dim)).float()
    angle = pos * speed
    table[:, 0::2] = torch.sin(angle[:, 0::2])
    table[:, 1::2] = torch.cos(angle[:, 1::2])
    return table


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.register_buffer("table", sinusoidal_encoding(max_len, embed_dim))

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError(f"{x.size(1)} positions, at most {self.max_len}")
        return x + self.table[: x.size(1)]


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.embedding = nn.Embedding(max_len, embed_dim)

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError(f"{x.size(1)} positions, at most {self.max_len}")
        return x + self.embedding(torch.arange(x.size(1), device=x.device))
