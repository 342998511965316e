"""Blocks are deep copies of one; the tie is made again at each call; targets are chosen with masked_select."""
import copy

import torch
from torch import nn
from exercise4_feed_forward import FeedForward
from exercise8_masks import MaskedMultiHeadAttention, causal_mask


def next_token_loss(logits, tokens, lengths=None):
    logp = torch.log_softmax(logits, dim=2)[:, : tokens.size(1) - 1]
    chosen = torch.gather(logp, 2, tokens[:, 1:, None]).squeeze(2)
    if lengths is not None:
        steps = torch.arange(chosen.size(1), device=chosen.device)
        chosen = chosen.masked_select(steps[None, :] + 1 < lengths[:, None])
    if chosen.nelement() == 0:
        raise ValueError("found no pair of neighbours")
    return -torch.mean(chosen)


class LanguageModel(nn.Module):
    def __init__(self, decoder, vocab_size, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos = nn.Embedding(max_len, embed_dim)
        self.decoder = decoder
        self.norm = nn.LayerNorm(embed_dim)
        self.unembed = nn.Linear(embed_dim, vocab_size, bias=False)
        self.tie()

    def tie(self):
        self.unembed.weight = self.embed.weight

    def forward(self, tokens):
        n = tokens.size(1)
        if n > self.max_len:
            raise ValueError("context too long")
        self.tie()
        h = self.embed(tokens).add(self.pos.weight[None, :n])
        return self.unembed(self.norm(self.decoder(h)))


class Layer(nn.Module):
    def __init__(self, attention, feed_forward, size, dropout):
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.norm_attention = nn.LayerNorm(size)
        self.norm_feed_forward = nn.LayerNorm(size)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x):
        mask = causal_mask(x.size(1), device=x.device)
        y = self.norm_attention(x)
        x = x + self.dropout(self.attention(y, mask=mask))
        y = self.norm_feed_forward(x)
        return x + self.dropout(self.feed_forward(y))


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, *, dropout=0.0):
    one = Layer(
        MaskedMultiHeadAttention(embed_dim, num_heads),
        FeedForward(embed_dim, dropout=dropout),
        embed_dim,
        dropout,
    )
    layers = nn.Sequential(*[copy.deepcopy(one) for _ in range(depth)])
    return LanguageModel(layers, vocab_size, embed_dim, max_len)
