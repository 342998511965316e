"""Hand-written dropout with torch.bernoulli, and the variance as the mean of the squared deviations."""
import torch
from torch import nn


def drop_some(x, p, training):
    if not training or p == 0.0:
        return x
    mask = torch.bernoulli(torch.full(x.shape, 1.0 - p, dtype=x.dtype, device=x.device))
    return mask * x / (1.0 - p)


class Norm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.pow(2).mean(dim=-1, keepdim=True)
        return centred * torch.rsqrt(variance + self.eps) * self.weight + self.bias


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.attn = attention
        self.ff = feed_forward
        self.ln_1 = Norm(embed_dim)
        self.ln_2 = Norm(embed_dim)
        self.pre = norm_first
        self.p = dropout

    def forward(self, x):
        a = self.attn(self.ln_1(x) if self.pre else x)
        x = x + drop_some(a, self.p, self.training)
        if not self.pre:
            x = self.ln_1(x)
        f = self.ff(self.ln_2(x) if self.pre else x)
        x = x + drop_some(f, self.p, self.training)
        return x if self.pre else self.ln_2(x)
