"""A config object with a property for the hidden width, and the names that a mini-GPT has."""
from dataclasses import dataclass
from typing import Literal, Optional

import torch
from torch import nn


@dataclass(frozen=True)
class MLPConfig:
    n_embd: int
    n_hidden: Optional[int] = None
    dropout: float = 0.0
    activation: Literal["relu", "gelu"] = "relu"

    def __post_init__(self):
        if self.activation not in ("relu", "gelu"):
            raise ValueError(f"no activation is called {self.activation}")

    @property
    def width(self) -> int:
        return self.n_hidden if self.n_hidden is not None else 4 * self.n_embd


class FeedForward(nn.Module):
    def __init__(self, embed_dim, **options):
        super().__init__()
        names = {"hidden_dim": "n_hidden", "dropout": "dropout", "activation": "activation"}
        config = MLPConfig(embed_dim, **{names[key]: value for key, value in options.items()})
        self.c_fc = nn.Linear(config.n_embd, config.width)
        self.c_proj = nn.Linear(config.width, config.n_embd)
        self.dropout = nn.Dropout(config.dropout)
        self.act = {"relu": nn.ReLU, "gelu": nn.GELU}[config.activation]()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.c_fc(x)
        x = self.act(x)
        x = self.c_proj(x)
        return self.dropout(x)
