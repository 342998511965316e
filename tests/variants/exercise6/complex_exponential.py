"""exp(i * angle) with .imag and .real written into the even and the odd columns."""
import torch
import torch.nn as nn


def sinusoidal_encoding(seq_len, embed_dim):
    half = (embed_dim + 1) // 2
    rate = torch.pow(10000.0, -2.0 * torch.arange(half) / embed_dim)
    phase = torch.arange(seq_len)[:, None] * rate[None, :]
    z = torch.exp(1j * phase)
    encoding = torch.empty(seq_len, embed_dim)
    encoding[:, ::2] = z.imag
    encoding[:, 1::2] = z.real[:, : embed_dim // 2]
    return encoding


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.register_buffer("pe", sinusoidal_encoding(max_len, embed_dim)[None])

    def forward(self, x):
        b, t, k = x.size()
        if t > self.max_len:
            raise ValueError(f"t={t} exceeds max_len={self.max_len}")
        return x + self.pe[:, :t, :].to(x.device)


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.embedding = nn.Parameter(torch.empty(1, max_len, embed_dim))
        nn.init.normal_(self.embedding, std=0.02)

    def forward(self, x):
        b, t, k = x.size()
        if t > self.max_len:
            raise ValueError(f"t={t} exceeds max_len={self.max_len}")
        return x + self.embedding[:, :t, :]
