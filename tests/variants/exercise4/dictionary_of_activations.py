"""Activations in a dict, looked up before it is too late; l1 and l2 for the layers."""
import torch.nn.functional as F
from torch import nn

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"{activation} is none of {', '.join(ACTIVATIONS)}")
        hidden_dim = hidden_dim or 4 * embed_dim
        self.l1 = nn.Linear(embed_dim, hidden_dim)
        self.l2 = nn.Linear(hidden_dim, embed_dim)
        self.drop = nn.Dropout(dropout)
        self.act = ACTIVATIONS[activation]

    def forward(self, x):
        return self.drop(self.l2(self.act(self.l1(x))))
