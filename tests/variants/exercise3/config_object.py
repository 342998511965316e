"""A typed dataclass carries the sizes and checks them; the module keeps it."""
from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


def fold_heads(x, num_heads):
    b, t, width = x.shape
    return x.reshape(b, t, num_heads, width // num_heads).transpose(1, 2).reshape(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    return x.reshape(rows // num_heads, num_heads, t, d).transpose(1, 2).reshape(rows // num_heads, t, -1)


@dataclass
class AttentionConfig:
    hidden_size: int
    num_attention_heads: int
    head_size: int | None = None
    use_bias: bool = False
    all_head_size: int = field(init=False)

    def __post_init__(self) -> None:
        if self.head_size is None:
            self.head_size, rest = divmod(self.hidden_size, self.num_attention_heads)
            if rest:
                raise ValueError(
                    f"The hidden size {self.hidden_size} is not a multiple of {self.num_attention_heads}"
                )
        self.all_head_size = self.num_attention_heads * self.head_size


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, *, head_dim: int | None = None, bias: bool = False) -> None:
        super().__init__()
        self.config = config = AttentionConfig(embed_dim, num_heads, head_dim, bias)
        self.query = nn.Linear(config.hidden_size, config.all_head_size, bias=config.use_bias)
        self.key = nn.Linear(config.hidden_size, config.all_head_size, bias=config.use_bias)
        self.value = nn.Linear(config.hidden_size, config.all_head_size, bias=config.use_bias)
        self.dense = nn.Linear(config.all_head_size, config.hidden_size)

    def transpose_for_scores(self, x: Tensor) -> Tensor:
        shape = x.size()[:-1] + (self.config.num_attention_heads, self.config.head_size)
        return x.view(shape).permute(0, 2, 1, 3)

    def forward(self, hidden_states: Tensor) -> Tensor:
        query = self.transpose_for_scores(self.query(hidden_states))
        key = self.transpose_for_scores(self.key(hidden_states))
        value = self.transpose_for_scores(self.value(hidden_states))
        scores = torch.matmul(query, key.transpose(-1, -2)) / self.config.head_size**0.5
        context = torch.matmul(nn.functional.softmax(scores, dim=-1), value)
        context = context.permute(0, 2, 1, 3).contiguous()
        return self.dense(context.view(context.size()[:-2] + (self.config.all_head_size,)))
