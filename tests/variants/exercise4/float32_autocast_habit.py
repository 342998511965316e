"""Float32 layers and a cast on the way in and on the way out."""
# loses: property/dtype
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        if activation not in ("relu", "gelu"):
            raise ValueError("activation: relu or gelu")
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        self.fc_in = nn.Linear(embed_dim, hidden_dim, dtype=torch.float32)
        self.act = nn.ReLU() if activation == "relu" else nn.GELU()
        self.fc_out = nn.Linear(hidden_dim, embed_dim, dtype=torch.float32)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        y = self.fc_out(self.act(self.fc_in(x.float())))
        return self.dropout(y).to(x.dtype)
