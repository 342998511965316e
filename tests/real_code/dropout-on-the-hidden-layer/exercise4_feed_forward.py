import torch.nn as nn
import torch.nn.functional as F


class FeedForward(nn.Module):
    def __init__(self, embed_dim, *, hidden_dim=None, activation="relu", dropout=0.0):
        super().__init__()
        hidden_dim = hidden_dim or 4 * embed_dim
        self.fc1 = nn.Linear(embed_dim, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)
        self.activation = {"relu": F.relu, "gelu": F.gelu}[activation]

    def forward(self, x):
        return self.fc2(self.dropout(self.activation(self.fc1(x))))
