"""A frozen dataclass with postponed annotations carries the sizes and builds the parts."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from exercise3_multi_head import MultiHeadSelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer
from torch import nn


@dataclass(frozen=True)
class EncoderConfig:
    embed_dim: int
    num_heads: int
    depth: int
    dropout: float = 0.0

    def make_layer(self) -> EncoderLayer:
        return EncoderLayer(
            MultiHeadSelfAttention(self.embed_dim, self.num_heads),
            FeedForward(self.embed_dim, dropout=self.dropout),
            self.embed_dim,
            dropout=self.dropout,
        )

    def make_encoder(self) -> nn.Module:
        encoder = nn.Sequential()
        for number in range(self.depth):
            encoder.add_module(f"layer_{number}", self.make_layer())
        return encoder


class TransformerClassifier(nn.Module):
    def __init__(self, encoder, vocab_size, embed_dim, max_len, num_classes):
        super().__init__()
        self.embeddings = nn.ModuleDict(
            {"token": nn.Embedding(vocab_size, embed_dim), "position": nn.Embedding(max_len, embed_dim)}
        )
        self.encoder = encoder
        self.classifier = nn.Linear(embed_dim, num_classes)
        self.max_len = max_len

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.size(1)
        if length > self.max_len:
            raise ValueError(f"at most {self.max_len} tokens, got {length}")
        index = torch.arange(length, device=tokens.device).unsqueeze(0)
        return self.embeddings["token"](tokens) + self.embeddings["position"](index)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        encoded = self.encoder(self.embed(tokens))
        pooled = torch.mean(encoded, dim=1, keepdim=False)
        return torch.log_softmax(self.classifier(pooled), dim=-1)


def build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes, dropout=0.0):
    config = EncoderConfig(embed_dim, num_heads, depth, dropout)
    return TransformerClassifier(config.make_encoder(), vocab_size, embed_dim, max_len, num_classes)
