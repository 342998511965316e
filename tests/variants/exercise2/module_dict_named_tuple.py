"""An nn.ModuleDict of projections and a NamedTuple for what comes out of it."""
from typing import NamedTuple

import torch
from torch import Tensor, nn


class QKV(NamedTuple):
    queries: Tensor
    keys: Tensor
    values: Tensor


class QKVProjection(nn.Module):
    def __init__(self, embed_dim: int, head_dim: int, *, bias: bool = False):
        super().__init__()
        self.layers = nn.ModuleDict(
            {role: nn.Linear(embed_dim, head_dim, bias=bias) for role in ("query", "key", "value")}
        )

    def forward(self, x: Tensor) -> QKV:
        return QKV(
            keys=self.layers["key"](x),
            queries=self.layers["query"](x),
            values=self.layers["value"](x),
        )


class AttentionHead(nn.Module):
    def __init__(self, embed_dim: int, head_dim: int, *, bias: bool = False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.projection(x)
        logits = qkv.queries @ qkv.keys.mT / qkv.keys.size(-1) ** 0.5
        weights = torch.exp(logits - logits.logsumexp(dim=-1, keepdim=True))
        return weights @ qkv.values
