"""Learned positions are the columns of a linear layer, picked by one-hot rows."""

import torch
from torch import nn


def get_angles(pos, i, d_model):
    angle_rates = 1 / torch.pow(10000, (2 * torch.div(i, 2, rounding_mode="floor")) / d_model)
    return pos * angle_rates


def sinusoidal_encoding(position, d_model):
    angle_rads = get_angles(
        torch.arange(position)[:, None], torch.arange(d_model)[None, :], d_model
    )
    even = torch.arange(d_model) % 2 == 0
    return torch.where(even, torch.sin(angle_rads), torch.cos(angle_rads))


class SinusoidalPositionEncoding(nn.Module):
    pe: torch.Tensor

    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.pe = nn.Buffer(sinusoidal_encoding(max_len, embed_dim), persistent=False)

    def __len__(self):
        return len(self.pe)

    def forward(self, x):
        _, t, _ = x.shape
        if t > len(self):
            raise ValueError(f"length {t} exceeds {len(self)}")
        return x.add(self.pe.narrow(0, 0, t))


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.embed = nn.Linear(max_len, embed_dim, bias=False)  # rows of an identity pick columns

    def forward(self, x):
        t = x.shape[1]
        if t > self.max_len:
            raise ValueError
        onehot = nn.functional.one_hot(torch.arange(t, device=x.device), self.max_len).to(x.dtype)
        return x + self.embed(onehot)
