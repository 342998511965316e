"""Stand-in for exercise 6, made of torch's own functions."""

import torch
from torch import Tensor, nn


def sinusoidal_encoding(seq_len: int, embed_dim: int) -> Tensor:
    """Return the table of sinusoids (t, k)."""
    pairs = (embed_dim + 1) // 2
    rates = torch.logspace(0, -8 * pairs / embed_dim, pairs + 1)[:pairs]
    angles = torch.outer(torch.arange(seq_len, dtype=rates.dtype), rates)
    clock = torch.view_as_real(torch.polar(torch.ones_like(angles), angles))
    return clock.flip(-1).flatten(1)[:, :embed_dim].contiguous()


class SinusoidalPositionEncoding(nn.Module):
    """Sinusoids, added."""

    def __init__(self, embed_dim: int, max_len: int) -> None:
        """Make the table."""
        super().__init__()
        self.table: Tensor
        self.register_buffer("table", sinusoidal_encoding(seq_len=max_len, embed_dim=embed_dim))

    def forward(self, x: Tensor) -> Tensor:
        """Return x with its positions (b, t, k)."""
        if x.size(1) > len(self.table):
            raise ValueError(f"{x.size(1)} positions exceed max_len {len(self.table)}")
        return torch.add(x, self.table.narrow(0, 0, x.size(1)))


class LearnedPositionEmbedding(nn.Module):
    """Learned vectors, added."""

    def __init__(self, embed_dim: int, max_len: int) -> None:
        """Make the vectors."""
        super().__init__()
        self.embedding = nn.Embedding(embedding_dim=embed_dim, num_embeddings=max_len)

    def forward(self, x: Tensor) -> Tensor:
        """Return x with its positions (b, t, k)."""
        if x.size(1) > self.embedding.num_embeddings:
            raise ValueError(f"{x.size(1)} positions exceed {self.embedding.num_embeddings}")
        return torch.add(x, self.embedding.weight.narrow(0, 0, x.size(1)))
