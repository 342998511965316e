"""A residual wrapper a sublayer; one_hot times a log-softmax; positions by cumsum."""
import torch
from exercise4_feed_forward import FeedForward
from exercise8_masks import MaskedMultiHeadAttention, causal_mask
from torch import nn


def next_token_loss(logits, tokens, lengths=None):
    vocab = logits.shape[-1]
    picked = []
    for i in range(tokens.shape[0]):
        n = tokens.shape[1] if lengths is None else int(lengths[i])
        for p in range(1, n):
            row = logits[i, p - 1]
            truth = nn.functional.one_hot(tokens[i, p], vocab).to(row.dtype)
            picked.append(-(truth * row.log_softmax(0)).sum())
    if not picked:
        raise ValueError("nothing follows anything")
    return torch.stack(picked).mean()


class LanguageModel(nn.Module):
    def __init__(self, decoder, vocab_size, embed_dim, max_len):
        super(LanguageModel, self).__init__()
        self.limit = max_len
        self.words = nn.Embedding(vocab_size, embed_dim)
        self.places = nn.Embedding(max_len, embed_dim)
        self.decoder = decoder
        self.norm = nn.LayerNorm(embed_dim)

    def forward(self, tokens):
        if tokens.size(1) > self.limit:
            raise ValueError("too many tokens: %d, at most %d" % (tokens.size(1), self.limit))
        places = torch.ones_like(tokens).cumsum(dim=1) - 1
        x = self.words(tokens)
        x = x + self.places(places)
        x = self.decoder(x)
        x = self.norm(x)
        return x @ self.words.weight.transpose(0, 1)


class Residual(nn.Module):
    def __init__(self, width, sublayer, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.sublayer = sublayer
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return x + self.dropout(self.sublayer(self.norm(x)))


class Causal(MaskedMultiHeadAttention):
    def forward(self, x):
        return super().forward(x, causal_mask(x.size(-2), device=x.device))


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, *, dropout=0.0):
    sublayers = []
    for _ in range(depth):
        sublayers.append(Residual(embed_dim, Causal(embed_dim, num_heads), dropout))
        sublayers.append(Residual(embed_dim, FeedForward(embed_dim, dropout=dropout), dropout))
    return LanguageModel(nn.Sequential(*sublayers), vocab_size, embed_dim, max_len)
