"""Raw weights stored (out, in), biases kept as (1, 1, out), einsum for the products."""
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        if activation not in {"relu", "gelu"}:
            raise ValueError(f"{activation=} is not supported")
        hidden_dim = embed_dim * 4 if hidden_dim is None else hidden_dim
        self.w1 = nn.Parameter(torch.empty(hidden_dim, embed_dim))
        self.b1 = nn.Parameter(torch.zeros(1, 1, hidden_dim))
        self.w2 = nn.Parameter(torch.empty(embed_dim, hidden_dim))
        self.b2 = nn.Parameter(torch.zeros(1, 1, embed_dim))
        nn.init.kaiming_normal_(self.w1, nonlinearity="relu")
        nn.init.xavier_normal_(self.w2)
        self.use_gelu = activation == "gelu"
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        hidden = torch.einsum("btk,fk->btf", x, self.w1) + self.b1
        if self.use_gelu:
            hidden = hidden * torch.special.ndtr(hidden)
        else:
            hidden = torch.where(hidden > 0, hidden, torch.zeros_like(hidden))
        return self.drop(torch.einsum("btf,kf->btk", hidden, self.w2) + self.b2)
