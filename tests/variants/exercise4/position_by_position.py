"""Applies the same two layers to each position in turn, then stacks the positions again."""
import torch
import torch.nn as nn


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        if not hidden_dim:
            hidden_dim = 4 * embed_dim
        known = nn.ModuleDict({"relu": nn.ReLU(), "gelu": nn.GELU()})
        if activation not in known:
            raise ValueError("activation " + repr(activation))
        self.layers = nn.ModuleList(
            [nn.Linear(embed_dim, hidden_dim), known[activation], nn.Linear(hidden_dim, embed_dim), nn.Dropout(dropout)]
        )

    def forward(self, x):
        columns = []
        for position in range(x.size(1)):
            y = x[:, position]
            for layer in self.layers:
                y = layer(y)
            columns.append(y)
        return torch.stack(columns, dim=1)
