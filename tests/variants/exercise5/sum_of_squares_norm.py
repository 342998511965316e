"""A norm from sums: the vector is centred, and its squared length over the width is the variance."""
import torch
from torch import Tensor, nn


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(1, 1, width))
        self.beta = nn.Parameter(torch.zeros(1, 1, width))

    def forward(self, x: Tensor) -> Tensor:
        n = x.size(-1)
        centred = x - x.sum(-1, keepdim=True) / n
        variance = torch.linalg.vector_norm(centred, dim=-1, keepdim=True) ** 2 / n
        return centred / (variance + 1e-5) ** 0.5 * self.gamma + self.beta


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.attn, self.ff = attention, feed_forward
        self.ln1, self.ln2 = Norm(embed_dim), Norm(embed_dim)
        self.drop = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x: Tensor) -> Tensor:
        if not self.norm_first:
            x = self.ln1(self.drop(self.attn(x)) + x)
            x = self.ln2(self.drop(self.ff(x)) + x)
        else:
            x = self.drop(self.attn(self.ln1(x))) + x
            x = self.drop(self.ff(self.ln2(x))) + x
        return x
