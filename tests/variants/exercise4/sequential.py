"""The whole block is one nn.Sequential."""
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        if hidden_dim is None:
            hidden_dim = 4 * embed_dim
        if activation == "relu":
            act = nn.ReLU()
        elif activation == "gelu":
            act = nn.GELU()
        else:
            raise ValueError(f"unknown activation: {activation}")
        self.net = nn.Sequential(
            nn.Linear(embed_dim, hidden_dim),
            act,
            nn.Linear(hidden_dim, embed_dim),
            nn.Dropout(dropout),
        )

    def forward(self, x):
        return self.net(x)
