"""fc1 and fc2 with F.relu or F.gelu looked up by getattr, and F.dropout told about training."""
import torch.nn as nn
import torch.nn.functional as F


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        if activation not in ("relu", "gelu"):
            raise ValueError("activation must be 'relu' or 'gelu'")
        self.p = dropout
        self.activation = activation
        hidden_dim = hidden_dim or 4 * embed_dim
        self.fc1 = nn.Linear(embed_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, embed_dim)

    def forward(self, x):
        x = getattr(F, self.activation)(self.fc1(x))
        x = self.fc2(x)
        return F.dropout(x, p=self.p, training=self.training)
