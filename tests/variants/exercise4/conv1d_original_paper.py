"""Two convolutions of kernel size one, which is how the original paper also describes it."""
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, embed_dim, *, hidden_dim=None, dropout=0.0, activation="relu"):
        super().__init__()
        d_ff = 4 * embed_dim if hidden_dim is None else hidden_dim
        self.conv1 = nn.Conv1d(in_channels=embed_dim, out_channels=d_ff, kernel_size=1)
        self.conv2 = nn.Conv1d(in_channels=d_ff, out_channels=embed_dim, kernel_size=1)
        self.dropout = nn.Dropout(dropout)
        match activation:
            case "relu":
                self.activation = torch.relu
            case "gelu":
                self.activation = nn.functional.gelu
            case _:
                raise ValueError(f"no such activation: {activation}")

    def forward(self, x):
        y = self.activation(self.conv1(x.transpose(-1, 1)))
        return self.dropout(self.conv2(y).transpose(-1, 1))
