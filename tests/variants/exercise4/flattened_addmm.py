"""Time is flattened into the batch and torch.addmm does both layers on matrices."""
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        self.embed_dim = embed_dim
        self.hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        if activation == "relu":
            self.activate = lambda z: torch.maximum(z, z.new_zeros(()))
        elif activation == "gelu":
            self.activate = lambda z: z * (1 + (z * 0.5**0.5).erf()) / 2
        else:
            raise ValueError(f"'{activation}' is neither 'relu' nor 'gelu'")
        self.inner = nn.Linear(self.embed_dim, self.hidden_dim)
        self.outer = nn.Linear(self.hidden_dim, self.embed_dim)
        self.dropout = nn.Dropout(dropout)

    def __call__(self, x):
        if x.size(-1) != self.embed_dim:
            raise ValueError(f"last axis is {x.size(-1)}, wanted {self.embed_dim}")
        return super().__call__(x)

    def forward(self, x):
        flat = x.reshape(-1, self.embed_dim)
        hidden = self.activate(torch.addmm(self.inner.bias, flat, self.inner.weight.t()))
        out = torch.addmm(self.outer.bias, hidden, self.outer.weight.t())
        return self.dropout(out).reshape(x.shape)
