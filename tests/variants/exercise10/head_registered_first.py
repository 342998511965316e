"""The last layer is registered first, and the embedding takes its weight; F.embedding and F.linear do the work."""
import torch
import torch.nn.functional as F
from exercise4_feed_forward import FeedForward
from exercise8_masks import MaskedMultiHeadAttention, causal_mask
from torch import nn


def next_token_loss(logits, tokens, lengths=None):
    # classes second, as cross_entropy wants them
    every = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    keep = torch.ones_like(every, dtype=torch.bool)
    if lengths is not None:
        keep &= torch.arange(every.size(1), device=every.device) < (lengths - 1)[:, None]
    kept = every[keep]
    if kept.numel() == 0:
        raise ValueError("there are no targets in this batch")
    return kept.mean()


class LanguageModel(nn.Module):
    def __init__(self, decoder, vocab_size, embed_dim, max_len):
        super().__init__()
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.token_embedding.weight = self.head.weight
        self.position_embedding = nn.Embedding(max_len, embed_dim)
        self.norm = nn.LayerNorm(embed_dim)
        self.decoder = decoder

    def forward(self, tokens):
        length = tokens.shape[-1]
        if length > self.position_embedding.num_embeddings:
            raise ValueError("text too long")
        x = F.embedding(tokens, self.head.weight) + self.position_embedding.weight[:length]
        return F.linear(self.norm(self.decoder(x)), self.head.weight)


class TransformerBlock(nn.Module):
    def __init__(self, k, heads, p):
        super().__init__()
        self.attention = MaskedMultiHeadAttention(k, heads)
        self.ff = FeedForward(k, dropout=p)
        self.norm1, self.norm2 = nn.LayerNorm(k), nn.LayerNorm(k)
        self.drop1, self.drop2 = nn.Dropout(p), nn.Dropout(p)

    def forward(self, x):
        b, t, k = x.shape
        normed = self.norm1(x)
        x = self.drop1(self.attention(normed, causal_mask(t, device=x.device))) + x
        normed = self.norm2(x)
        return self.drop2(self.ff(normed)) + x


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, dropout=0.0):
    stack = nn.Sequential()
    for i in range(depth):
        stack.add_module(f"block{i}", TransformerBlock(embed_dim, num_heads, dropout))
    return LanguageModel(stack, vocab_size, embed_dim, max_len)
