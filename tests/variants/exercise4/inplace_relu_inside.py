"""nn.ReLU(inplace=True), harmless because it overwrites the first layer's output and not the caller's tensor."""
import torch.nn as nn


def get_activation(name):
    if name.lower() == "relu":
        return nn.ReLU(inplace=True)
    elif name.lower() == "gelu":
        return nn.GELU()
    raise ValueError(f"Unsupported activation: {name}")


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super(FeedForward, self).__init__()
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        self.ff1 = nn.Sequential(nn.Linear(embed_dim, hidden_dim), get_activation(activation))
        self.ff2 = nn.Sequential(nn.Linear(hidden_dim, embed_dim), nn.Dropout(dropout))

    def forward(self, x):
        return self.ff2(self.ff1(x))
