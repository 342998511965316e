"""The feed-forward network as one sequence."""

from torch import nn

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU}


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"no activation {activation!r}; there are {sorted(ACTIVATIONS)}")
        if hidden_dim is None:
            hidden_dim = embed_dim * 4
        self.steps = nn.Sequential(
            nn.Linear(embed_dim, hidden_dim),
            ACTIVATIONS[activation](),
            nn.Linear(hidden_dim, embed_dim),
            nn.Dropout(dropout),
        )

    def forward(self, x):
        return self.steps(x)
