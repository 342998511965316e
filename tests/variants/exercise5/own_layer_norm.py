"""A layer norm written out: mean, biased variance, epsilon under the root; two dropouts."""
import torch
import torch.nn as nn


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, unbiased=False, keepdim=True)
        return self.gamma * (x - mean) / torch.sqrt(var + self.eps) + self.beta


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.self_attn = attention
        self.ffn = feed_forward
        self.layer_norm1 = LayerNorm(embed_dim)
        self.layer_norm2 = LayerNorm(embed_dim)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.norm_first = norm_first

    def forward(self, x):
        if not self.norm_first:
            attn_output = self.dropout1(self.self_attn(x))
            out1 = self.layer_norm1(x + attn_output)
            ffn_output = self.dropout2(self.ffn(out1))
            return self.layer_norm2(out1 + ffn_output)

        attn_output = self.dropout1(self.self_attn(self.layer_norm1(x)))
        out1 = x + attn_output
        ffn_output = self.dropout2(self.ffn(self.layer_norm2(out1)))
        return out1 + ffn_output
