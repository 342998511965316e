"""One-letter names, typed sizes, an assertion beside the error, the norm as a function with own parameters."""
import torch as t
import torch.nn.functional as f
from exercise4_feed_forward import FeedForward
from exercise8_masks import MaskedMultiHeadAttention, causal_mask
from torch import nn


def next_token_loss(logits, tokens, lengths=None):
    z, y = logits[:, :-1], tokens[:, 1:]
    m = t.ones_like(y).bool()
    if lengths is not None:
        m = t.arange(y.size(1)).to(y.device)[None] + 1 < lengths.to(y.device)[:, None]
    z, y = z[m], y[m]
    if y.numel() < 1:
        raise ValueError("n = 0")
    z = z - z.max(-1, keepdim=True).values
    return (z.exp().sum(-1).log() - z[t.arange(len(y)), y]).mean()


class LanguageModel(nn.Module):
    def __init__(self, decoder, vocab_size, embed_dim, max_len):
        super().__init__()
        self.e = nn.Embedding(vocab_size, embed_dim)
        self.p = nn.Embedding(max_len, embed_dim)
        self.d = decoder
        self.g = nn.Parameter(t.ones(embed_dim))
        self.b = nn.Parameter(t.zeros(embed_dim))

    def forward(self, w):
        n = w.size(1)
        if n > len(self.p.weight):
            raise ValueError("n > m")
        assert w.dim() == 2
        x = self.e(w) + self.p.weight[:n]
        x = self.d(x)
        x = f.layer_norm(x, x.shape[-1:], self.g, self.b)
        return x @ self.e.weight.T


class B(nn.Module):
    def __init__(self, k, h, p):
        super().__init__()
        self.m = MaskedMultiHeadAttention(k, h)
        self.f = FeedForward(k, dropout=p)
        self.n = nn.LayerNorm(k)
        self.o = nn.LayerNorm(k)
        self.p = p

    def forward(self, x):
        c = causal_mask(x.shape[1], device=x.device)
        x = x + f.dropout(self.m(self.n(x), c), self.p, self.training)
        return x + f.dropout(self.f(self.o(x)), self.p, self.training)


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, dropout=0.0):
    return LanguageModel(
        nn.Sequential(*[B(embed_dim, num_heads, dropout) for _ in range(depth)]),
        vocab_size,
        embed_dim,
        max_len,
    )
