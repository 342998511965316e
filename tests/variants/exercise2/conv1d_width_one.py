"""Projections as nn.Conv1d with kernel size one; time is moved last and back."""
import torch
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.query_conv = nn.Conv1d(embed_dim, head_dim, kernel_size=1, bias=bias)
        self.key_conv = nn.Conv1d(embed_dim, head_dim, kernel_size=1, bias=bias)
        self.value_conv = nn.Conv1d(embed_dim, head_dim, kernel_size=1, bias=bias)

    def forward(self, x):
        channels_first = x.transpose(1, 2)  # (b, k, t)
        convs = (self.query_conv, self.key_conv, self.value_conv)
        return tuple(conv(channels_first).transpose(1, 2) for conv in convs)


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias)
        self.softmax = nn.Softmax(dim=-1)
        self.temperature = head_dim**0.5

    def forward(self, x):
        q, k, v = self.projection(x)
        energy = torch.matmul(q, k.transpose(1, 2)) / self.temperature
        return torch.matmul(self.softmax(energy), v)
