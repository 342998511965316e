from torch import nn


class FeedForward(nn.Module):
    def __init__(self, embed_dim, hidden_dim=None, dropout=0.0, activation="gelu"):
        super().__init__()
        if activation not in ("relu", "gelu"):
            raise ValueError("activation is relu or gelu")
        hidden = hidden_dim or 4 * embed_dim
        self.ff = nn.Sequential(
            nn.Linear(embed_dim, hidden),
            nn.Linear(hidden, embed_dim),
            nn.GELU() if activation == "gelu" else nn.ReLU(),
            nn.Dropout(dropout),
        )

    def forward(self, x):
        return self.ff(x)
