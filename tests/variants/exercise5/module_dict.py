"""Everything in one nn.ModuleDict keyed by role, sublayers named attention and feed_forward."""
import torch
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.parts = nn.ModuleDict(
            {
                "attention": attention,
                "attention_norm": nn.LayerNorm(embed_dim),
                "feed_forward": feed_forward,
                "feed_forward_norm": nn.LayerNorm(embed_dim),
                "dropout": nn.Dropout(dropout),
            }
        )
        self.norm_first = norm_first

    def _branch(self, x: torch.Tensor, role: str) -> torch.Tensor:
        return self.parts["dropout"](self.parts[role](x))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for role in ("attention", "feed_forward"):
            norm = self.parts[role + "_norm"]
            x = x + self._branch(norm(x), role) if self.norm_first else norm(x + self._branch(x, role))
        return x
