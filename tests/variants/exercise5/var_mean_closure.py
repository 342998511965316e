"""torch.var_mean with correction=0 in a plain function, scale and shift in a ParameterList for each norm."""
import torch
from torch import nn


def layer_norm(x, scale, shift, eps=1e-5):
    var, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return (x - mean) * (var + eps) ** -0.5 * scale + shift


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.norm1 = nn.ParameterList([torch.ones(embed_dim), torch.zeros(embed_dim)])
        self.norm2 = nn.ParameterList([torch.ones(embed_dim), torch.zeros(embed_dim)])
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        plan = [(self.attention, self.norm1), (self.feed_forward, self.norm2)]
        for sublayer, (scale, shift) in plan:
            if self.norm_first:
                x = x + self.dropout(sublayer(layer_norm(x, scale, shift)))
            else:
                x = layer_norm(x + self.dropout(sublayer(x)), scale, shift)
        return x
