"""A TransformerEncoder class of one's own with a ModuleList; log-probabilities as logits minus logsumexp."""
from __future__ import annotations

import exercise3_multi_head as ex3
import exercise4_feed_forward as ex4
import exercise5_encoder_layer as ex5
from torch import Tensor, nn


class TransformerEncoder(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, depth: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(depth):
            attention = ex3.MultiHeadSelfAttention(embed_dim, num_heads, bias=False)
            feed_forward = ex4.FeedForward(embed_dim, hidden_dim=4 * embed_dim, dropout=dropout, activation="relu")
            self.layers.append(ex5.EncoderLayer(attention, feed_forward, embed_dim, norm_first=False, dropout=dropout))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class TransformerClassifier(nn.Module):
    def __init__(self, encoder: nn.Module, vocab_size: int, embed_dim: int, max_len: int, num_classes: int) -> None:
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, embed_dim)
        self.pos_emb = nn.Embedding(max_len, embed_dim)
        self.encoder = encoder
        self.head = nn.Linear(embed_dim, num_classes)

    def forward(self, tokens: Tensor) -> Tensor:
        t = tokens.shape[-1]
        if t > self.pos_emb.num_embeddings:
            raise ValueError(f"{t} tokens, room for {self.pos_emb.num_embeddings}")
        x = self.tok_emb(tokens) + self.pos_emb.weight[:t]
        logits = self.head(self.encoder(x).mean(-2))
        return logits - logits.logsumexp(dim=-1, keepdim=True)


def build_classifier(
    vocab_size: int,
    embed_dim: int,
    num_heads: int,
    depth: int,
    max_len: int,
    num_classes: int,
    *,
    dropout: float = 0.0,
) -> TransformerClassifier:
    encoder = TransformerEncoder(embed_dim, num_heads, depth, dropout)
    return TransformerClassifier(encoder, vocab_size, embed_dim, max_len, num_classes)
