"""A dataclass of sizes is handed from the head to its projection."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    n_embd: int
    head_size: int
    bias: bool = False

    def layer(self) -> nn.Linear:
        return nn.Linear(self.n_embd, self.head_size, bias=self.bias)


class QKVProjection(nn.Module):
    def __init__(self, embed_dim: int, head_dim: int, bias: bool = False) -> None:
        super().__init__()
        self.config = Config(embed_dim, head_dim, bias)
        self.key = self.config.layer()
        self.query = self.config.layer()
        self.value = self.config.layer()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        k, q, v = self.key(x), self.query(x), self.value(x)
        return q, k, v


class AttentionHead(nn.Module):
    def __init__(self, embed_dim: int, head_dim: int, bias: bool = False) -> None:
        super().__init__()
        self.qkv = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x)
        wei = q @ k.transpose(-2, -1) * self.qkv.config.head_size**-0.5
        return F.softmax(wei, dim=-1) @ v
