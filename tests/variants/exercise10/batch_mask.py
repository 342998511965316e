"""The mask is given as (1, t, t); losses of padded places become zero by where; the model is a subclass with a config."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from exercise4_feed_forward import FeedForward
from exercise8_masks import MaskedMultiHeadAttention, causal_mask
from torch import nn


@dataclass
class Config:
    vocab_size: int
    embed_dim: int
    max_len: int


def next_token_loss(logits, tokens, lengths=None):
    B, T, V = logits.shape
    nll = F.nll_loss(
        F.log_softmax(logits[:, :-1].reshape(B * (T - 1), V), dim=1),
        tokens[:, 1:].reshape(-1),
        reduction="none",
    ).reshape(B, T - 1)
    if lengths is None:
        valid = torch.ones_like(nll, dtype=torch.bool)
    else:
        valid = torch.arange(T, device=tokens.device).expand(B, T)[:, 1:].lt(lengths.reshape(-1, 1))
    count = int(valid.sum())
    if not count:
        raise ValueError("at least one sequence needs two tokens")
    return torch.where(valid, nll, torch.zeros_like(nll)).sum() / count


class LanguageModel(nn.Module):
    def __init__(self, decoder, vocab_size, embed_dim, max_len):
        super().__init__()
        self.config = Config(vocab_size, embed_dim, max_len)
        self.decoder = decoder
        self.embeddings = nn.ModuleList(
            [nn.Embedding(vocab_size, embed_dim), nn.Embedding(max_len, embed_dim)]
        )
        self.norm = nn.LayerNorm(embed_dim, eps=1e-5)

    @property
    def max_len(self):
        return self.config.max_len

    def forward(self, tokens):
        token, position = self.embeddings
        b, t = tokens.shape
        if t > self.max_len:
            raise ValueError(f"{t} tokens are more than max_len={self.max_len}")
        where = torch.arange(t, device=tokens.device).expand(b, t)
        out = self.norm(self.decoder(token(tokens) + position(where)))
        return out.matmul(token.weight.mT)


class GPTBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        self.pre_attention = nn.LayerNorm(embed_dim)
        self.attention = MaskedMultiHeadAttention(embed_dim, num_heads)
        self.pre_feed_forward = nn.LayerNorm(embed_dim)
        self.feed_forward = FeedForward(
            embed_dim, hidden_dim=4 * embed_dim, dropout=dropout, activation="relu"
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden):
        mask = causal_mask(hidden.size(1), device=hidden.device).unsqueeze(0)
        skip = hidden
        hidden = self.attention(self.pre_attention(hidden), mask)
        hidden = skip + self.dropout(hidden)
        skip = hidden
        hidden = self.feed_forward(self.pre_feed_forward(hidden))
        return skip + self.dropout(hidden)


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, dropout=0.0):
    if embed_dim % num_heads != 0:
        raise ValueError("embed_dim must be divisible by num_heads")
    decoder = nn.Sequential(*[GPTBlock(embed_dim, num_heads, dropout) for _ in range(depth)])
    return LanguageModel(decoder, vocab_size, embed_dim, max_len)
