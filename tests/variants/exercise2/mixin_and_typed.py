"""A mixin knows attention, a helper makes the layers; all is annotated."""
from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Views(NamedTuple):
    queries: Tensor
    keys: Tensor
    values: Tensor


class AttendsMixin:
    @staticmethod
    def attend(views: Views) -> Tensor:
        width = views.queries.shape[-1]
        scores = torch.baddbmm(
            torch.zeros(1, 1, 1, dtype=views.queries.dtype, device=views.queries.device),
            views.queries,
            views.keys.transpose(1, 2),
            beta=0,
            alpha=width**-0.5,
        )
        return scores.softmax(-1).bmm(views.values)


def _three_layers(embed_dim: int, head_dim: int, bias: bool) -> nn.ModuleDict:
    return nn.ModuleDict({part: nn.Linear(embed_dim, head_dim, bias=bias) for part in ("query", "key", "value")})


class QKVProjection(nn.Module):
    def __init__(self, embed_dim: int, head_dim: int, *, bias: bool = False) -> None:
        super().__init__()
        self.layers = _three_layers(embed_dim, head_dim, bias)

    def forward(self, x: Tensor) -> Views:
        return Views(*(layer(x) for layer in self.layers.values()))


class AttentionHead(AttendsMixin, nn.Module):
    def __init__(self, embed_dim: int, head_dim: int, *, bias: bool = False) -> None:
        super().__init__()
        self.project = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.attend(self.project(x))
