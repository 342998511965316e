"""An Enum refuses unknown activations by itself, a dataclass keeps the settings, properties read them."""
from dataclasses import dataclass
from enum import Enum

import torch
from torch import nn


class Activation(Enum):
    RELU = "relu"
    GELU = "gelu"

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self is Activation.RELU:
            return torch.relu(x)
        return nn.functional.gelu(x)


@dataclass
class Settings:
    embed_dim: int
    hidden_dim: int
    dropout: float
    activation: Activation


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        self.settings = Settings(embed_dim, hidden_dim or 4 * embed_dim, dropout, Activation(activation))
        self.lin1 = nn.Linear(self.settings.embed_dim, self.hidden)
        self.lin2 = nn.Linear(self.hidden, self.settings.embed_dim)

    @property
    def hidden(self):
        return self.settings.hidden_dim

    def forward(self, x):
        y = self.lin2(self.settings.activation(self.lin1(x)))
        return nn.functional.dropout(y, self.settings.dropout, self.training)
