"""Columns are built one by one, then put side by side with torch.column_stack; one guard serves both modules."""
import torch
import torch.nn as nn


def sinusoidal_encoding(seq_len, embed_dim):
    pos = torch.arange(seq_len, dtype=torch.get_default_dtype())
    columns = []
    for two_i in range(0, embed_dim, 2):
        argument = pos / (10000 ** (two_i / embed_dim))
        columns.append(torch.sin(argument))
        columns.append(torch.cos(argument))
    return torch.column_stack(columns[:embed_dim])


class LengthGuard:
    max_len: int

    def guard(self, x):
        if x.shape[1] > self.max_len:
            raise ValueError(f"{type(self).__name__} was made for {self.max_len} positions, not {x.shape[1]}")
        return x.shape[1]


class SinusoidalPositionEncoding(LengthGuard, nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.register_buffer("pos_table", sinusoidal_encoding(max_len, embed_dim))

    def forward(self, x):
        t = self.guard(x)
        return self.pos_table.index_select(0, torch.arange(t, device=x.device)) + x


class LearnedPositionEmbedding(LengthGuard, nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.pos_emb = nn.Parameter(torch.zeros(max_len, embed_dim))

    def forward(self, x):
        t = self.guard(x)
        return self.pos_emb.index_select(0, torch.arange(t, device=x.device)) + x
