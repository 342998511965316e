"""Logits are cast to float32 before log_softmax, as in many training scripts, and come back as float32."""
# loses: property/dtype
import torch
import torch.nn.functional as F
from exercise3_multi_head import MultiHeadSelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer
from torch import nn


class TransformerClassifier(nn.Module):
    def __init__(self, encoder, vocab_size, embed_dim, max_len, num_classes):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_len, embed_dim)
        self.encoder = encoder
        self.to_logits = nn.Linear(embed_dim, num_classes)

    def forward(self, tokens):
        t = tokens.size(1)
        if t > self.position_embedding.num_embeddings:
            raise ValueError("sequence too long")
        x = self.token_embedding(tokens) + self.position_embedding(torch.arange(t, device=tokens.device))
        logits = self.to_logits(self.encoder(x).mean(dim=1))
        return F.log_softmax(logits.float(), dim=-1)


def build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes, dropout=0.0):
    layers = [
        EncoderLayer(
            MultiHeadSelfAttention(embed_dim, num_heads),
            FeedForward(embed_dim, dropout=dropout),
            embed_dim,
            dropout=dropout,
        )
        for _ in range(depth)
    ]
    return TransformerClassifier(nn.Sequential(*layers), vocab_size, embed_dim, max_len, num_classes)
