"""Calls the function in forward and moves the result to the input with .to(x)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoidal_encoding(seq_len, embed_dim):
    rows = []
    for pos in range(seq_len):
        i = torch.arange(0, embed_dim, 2)
        angles = pos / torch.pow(10000.0, i / embed_dim)
        row = torch.stack((torch.sin(angles), torch.cos(angles)), dim=1)
        rows.append(row.reshape(-1)[:embed_dim])
    return torch.stack(rows)


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.embed_dim, self.max_len = embed_dim, max_len

    def forward(self, x):
        seq_len = x.size(1)
        if seq_len > self.max_len:
            raise ValueError("seq_len must not be larger than max_len")
        return x + sinusoidal_encoding(seq_len, self.embed_dim).to(x)


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.embedding = nn.Embedding(max_len, embed_dim)

    def forward(self, x):
        seq_len = x.size(1)
        if seq_len > self.embedding.num_embeddings:
            raise ValueError("seq_len must not be larger than max_len")
        ids = torch.arange(seq_len, device=x.device)
        return x + F.embedding(ids, self.embedding.weight).unsqueeze(0)
