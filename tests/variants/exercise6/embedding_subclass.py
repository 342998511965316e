"""LearnedPositionEmbedding is an nn.Embedding by inheritance; sinusoids by stack and flatten."""
import torch
from torch import nn


def sinusoidal_encoding(seq_len, embed_dim):
    pairs = embed_dim // 2 + embed_dim % 2
    freqs = 1.0 / (10000.0 ** (torch.arange(0, 2 * pairs, 2) / embed_dim))
    angles = torch.einsum("i,j->ij", torch.arange(seq_len, dtype=freqs.dtype), freqs)
    both = torch.stack([angles.sin(), angles.cos()], dim=-1)
    return both.flatten(start_dim=1)[..., :embed_dim]


class SinusoidalPositionEncoding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        # stored (t, 1, k), the way time-first code does it
        self.register_buffer("pe", sinusoidal_encoding(max_len, embed_dim).unsqueeze(1))

    def forward(self, x):
        n = x.shape[1]
        if n > self.max_len:
            raise ValueError("max_len is " + str(self.max_len))
        return (x.transpose(0, 1) + self.pe[:n]).transpose(0, 1)


class LearnedPositionEmbedding(nn.Embedding):
    def __init__(self, embed_dim, max_len):
        super().__init__(max_len, embed_dim)

    def forward(self, x):
        n = x.shape[1]
        if n > self.num_embeddings:
            raise ValueError("max_len is " + str(self.num_embeddings))
        return x + super().forward(torch.arange(n, device=x.device))
