"""The table is computed in numpy and handed to torch at the end."""
import numpy as np
import torch
from torch import nn


def sinusoidal_encoding(seq_len, embed_dim):
    pos = np.arange(seq_len)[:, np.newaxis]
    column = np.arange(embed_dim)[np.newaxis, :]
    angles = pos / np.power(10000.0, 2 * (column // 2) / embed_dim)
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return torch.tensor(angles, dtype=torch.get_default_dtype())


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.register_buffer("pos_encoding", sinusoidal_encoding(max_len, embed_dim))

    def forward(self, x):
        _, length, _ = x.shape
        if length > len(self.pos_encoding):
            raise ValueError("sequence too long: %d > %d" % (length, len(self.pos_encoding)))
        return x + self.pos_encoding[:length, :].expand_as(x)


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.embedding = nn.Embedding(num_embeddings=max_len, embedding_dim=embed_dim)

    def forward(self, x):
        b, length, _ = x.shape
        if length > self.embedding.num_embeddings:
            raise ValueError("sequence too long: %d > %d" % (length, self.embedding.num_embeddings))
        positions = torch.arange(length, device=x.device).expand(b, length)
        return x + self.embedding(positions)
