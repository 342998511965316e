"""Layers of einops' in a Sequential: the mean over time is one, and names its axes."""
import torch
from einops.layers.torch import Reduce
from torch import nn


class TransformerClassifier(nn.Module):
    def __init__(self, encoder, vocab_size, embed_dim, max_len, num_classes):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_len, embed_dim)
        self.encoder = encoder
        self.mlp_head = nn.Sequential(
            Reduce("b t k -> b k", "mean"), nn.Linear(embed_dim, num_classes), nn.LogSoftmax(dim=-1)
        )
        self.max_len = max_len

    def forward(self, tokens):
        t = tokens.shape[1]
        if t > self.max_len:
            raise ValueError(f"{t} tokens are more than {self.max_len}")
        x = self.token_embedding(tokens)
        x = x + self.position_embedding(torch.arange(t, device=tokens.device))
        return self.mlp_head(self.encoder(x))


def build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes, dropout=0.0):
    from exercise3_multi_head import MultiHeadSelfAttention
    from exercise4_feed_forward import FeedForward
    from exercise5_encoder_layer import EncoderLayer

    blocks = nn.Sequential()
    for _ in range(depth):
        blocks.append(
            EncoderLayer(
                attention=MultiHeadSelfAttention(embed_dim=embed_dim, num_heads=num_heads),
                feed_forward=FeedForward(embed_dim=embed_dim, dropout=dropout),
                embed_dim=embed_dim,
                dropout=dropout,
            )
        )
    return TransformerClassifier(
        encoder=blocks, vocab_size=vocab_size, embed_dim=embed_dim, max_len=max_len, num_classes=num_classes
    )
