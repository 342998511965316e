"""A record of options, layers in a dictionary, dropout by a function."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass(frozen=True)
class Config:
    width: int
    heads: int = 1
    dropout: float = 0.0
    eps: float = 1e-5

    def __post_init__(self):
        if self.width % self.heads:
            raise ValueError("width must be a multiple of heads")


class LayerNorm(nn.Module):
    def __init__(self, embed_dim, eps=1e-5):
        super().__init__()
        self.config = Config(embed_dim, eps=eps)
        self.weight = nn.Parameter(torch.ones(embed_dim))
        self.bias = nn.Parameter(torch.zeros(embed_dim))

    def forward(self, x):
        std, mean = torch.std_mean(x, -1, unbiased=False, keepdim=True)
        return (x - mean) / (std.square() + self.config.eps).sqrt() * self.weight + self.bias


class CrossAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.config = Config(embed_dim, num_heads)
        plain = {name: nn.Linear(embed_dim, embed_dim, bias=False) for name in "qkv"}
        self.layers = nn.ModuleDict({**plain, "o": nn.Linear(embed_dim, embed_dim)})

    def _heads(self, name, y):
        return torch.stack(self.layers[name](y).chunk(self.config.heads, -1), 1)

    def forward(self, x, memory, memory_mask=None):
        q, k, v = self._heads("q", x), self._heads("k", memory), self._heads("v", memory)
        scores = torch.matmul(q / (k.shape[-1] ** 0.5), k.transpose(2, 3))
        if memory_mask is not None:
            bias = torch.zeros_like(memory_mask, dtype=scores.dtype)
            bias = bias.masked_fill(~memory_mask, float("-inf"))
            bias = bias.masked_fill(~memory_mask.any(1, keepdim=True), 0.0)
            keep = memory_mask.any(1)[:, None, None, None].to(scores.dtype)
            gathered = F.softmax(scores + bias[:, None, None], -1) * keep
        else:
            gathered = F.softmax(scores, -1)
        heads = torch.matmul(gathered, v).unbind(1)
        return self.layers["o"](torch.cat(heads, -1))


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, embed_dim, *, dropout=0.0):
        super().__init__()
        self.config = Config(embed_dim, dropout=dropout)
        self.sublayers = nn.ModuleDict(
            {"self": self_attention, "cross": cross_attention, "feed": feed_forward}
        )
        self.norms = nn.ModuleDict({n: nn.LayerNorm(embed_dim) for n in self.sublayers})

    def _run(self, name, x, **more):
        made = self.sublayers[name](self.norms[name](x), **more)
        return x + F.dropout(made, self.config.dropout, self.training)

    def forward(self, x, memory, memory_mask=None):
        size = x.shape[1]
        seen = torch.arange(size, device=x.device).expand(size, size)
        x = self._run("self", x, mask=seen <= seen.t())
        x = self._run("cross", x, memory=memory, memory_mask=memory_mask)
        return self._run("feed", x)
