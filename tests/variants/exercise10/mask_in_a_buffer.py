"""The mask of the longest text is a buffer, cut to size; one stack class keeps all; weighted sum for the loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from exercise4_feed_forward import FeedForward
from exercise8_masks import MaskedMultiHeadAttention, causal_mask


def next_token_loss(logits, tokens, lengths=None):
    logits, labels = logits[:, :-1, :], tokens[:, 1:]
    mask = torch.ones(labels.shape, dtype=torch.bool, device=labels.device)
    if lengths is not None:
        mask = torch.arange(1, tokens.size(1), device=tokens.device).unsqueeze(0) < lengths.unsqueeze(-1)
    n = mask.sum()
    if n.item() == 0:
        raise ValueError("no targets: every sequence has fewer than two tokens")
    logits = logits.masked_fill(~mask.unsqueeze(-1), 0.0)
    nll = -F.log_softmax(logits, dim=-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    return (nll * mask).sum() / n


class LanguageModel(nn.Module):
    def __init__(self, decoder, vocab_size, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.tok_emb = nn.Embedding(vocab_size, embed_dim)
        self.pos_emb = nn.Embedding(max_len, embed_dim)
        self.decoder = decoder
        self.final_norm = nn.LayerNorm(embed_dim)
        self.register_buffer("positions", torch.arange(max_len), persistent=False)

    def forward(self, tokens):
        seq_len = tokens.shape[1]
        if seq_len > self.max_len:
            raise ValueError(f"got {seq_len} tokens; at most {self.max_len}")
        x = self.tok_emb(tokens) + self.pos_emb(self.positions[:seq_len])[None]
        x = self.final_norm(self.decoder(x))
        return F.linear(x, self.tok_emb.weight)


class Decoder(nn.Module):
    def __init__(self, embed_dim, num_heads, depth, max_len, dropout):
        super().__init__()
        self.attention = nn.ModuleList(MaskedMultiHeadAttention(embed_dim, num_heads) for _ in range(depth))
        self.feed_forward = nn.ModuleList(FeedForward(embed_dim, dropout=dropout) for _ in range(depth))
        self.norm1 = nn.ModuleList(nn.LayerNorm(embed_dim) for _ in range(depth))
        self.norm2 = nn.ModuleList(nn.LayerNorm(embed_dim) for _ in range(depth))
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(max_len))

    def forward(self, x):
        mask = self.mask[: x.size(1), : x.size(1)]
        for attention, feed_forward, norm1, norm2 in zip(
            self.attention, self.feed_forward, self.norm1, self.norm2
        ):
            x = x + self.drop(attention(norm1(x), mask))
            x = x + self.drop(feed_forward(norm2(x)))
        return x


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, dropout=0.0):
    decoder = Decoder(embed_dim, num_heads, depth, max_len, dropout)
    return LanguageModel(decoder, vocab_size, embed_dim, max_len)
