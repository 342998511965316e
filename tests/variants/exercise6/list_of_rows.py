"""Each position has a parameter of its own; the sinusoids are rotated on, step by step."""

import torch
from torch import nn


def sinusoidal_encoding(seq_len, embed_dim):
    # rotate by the frequency, step by step: (s, c)_{p+1} = R(w) (s, c)_p
    pairs = (embed_dim + 1) // 2
    w = 10000.0 ** (-2.0 * torch.arange(pairs) / embed_dim)
    s, c = torch.zeros(pairs), torch.ones(pairs)
    rows = []
    for _ in range(seq_len):
        rows.append(torch.stack([s, c], dim=1).reshape(-1)[:embed_dim])
        s, c = s * torch.cos(w) + c * torch.sin(w), c * torch.cos(w) - s * torch.sin(w)
    return torch.stack(rows)


class _Limited(nn.Module):
    max_len: int

    def check(self, x):
        if x.size(-2) > self.max_len:
            raise ValueError(f"at most {self.max_len} positions")
        return x.size(-2)


class SinusoidalPositionEncoding(_Limited):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.register_buffer("table", sinusoidal_encoding(max_len, embed_dim))

    def forward(self, x):
        return x + self.table[: self.check(x)].unsqueeze(0).expand_as(x)


class LearnedPositionEmbedding(_Limited):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.rows = nn.ParameterList([nn.Parameter(torch.randn(embed_dim)) for _ in range(max_len)])

    def forward(self, x):
        return x + torch.stack(list(self.rows[: self.check(x)]))
