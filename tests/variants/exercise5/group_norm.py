"""Layer norm as nn.GroupNorm with a single group on flattened positions, which is the same thing."""
import torch
import torch.nn as nn


class PositionNorm(nn.GroupNorm):
    def __init__(self, channels):
        super().__init__(num_groups=1, num_channels=channels, eps=1e-5)

    def forward(self, x):
        flat = x.reshape(-1, x.size(-1))  # (b*t, k): each position is a sample of its own
        return super().forward(flat).reshape(x.shape)


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.mha = attention
        self.mlp = feed_forward
        self.attn_norm = PositionNorm(embed_dim)
        self.mlp_norm = PositionNorm(embed_dim)
        self.resid_dropout = nn.Dropout(dropout)
        self.norm_first = bool(norm_first)

    def forward(self, x: torch.Tensor):
        if self.norm_first:
            h = x + self.resid_dropout(self.mha(self.attn_norm(x)))
            return h + self.resid_dropout(self.mlp(self.mlp_norm(h)))
        h = self.attn_norm(x + self.resid_dropout(self.mha(x)))
        return self.mlp_norm(h + self.resid_dropout(self.mlp(h)))
