import torch
import torch.nn as nn
from exercise3_multi_head import MultiHeadSelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer


class TransformerClassifier(nn.Module):
    def __init__(self, encoder, vocab_size, embed_dim, max_len, num_classes):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_len, embed_dim)
        self.encoder = encoder
        self.to_logits = nn.Linear(embed_dim, num_classes)
        self.max_len = max_len

    def forward(self, tokens):
        t = tokens.size(1)
        if t > self.max_len:
            raise ValueError(f"{t} tokens, at most {self.max_len}")
        positions = torch.arange(t, device=tokens.device)
        x = self.token_embedding(tokens) + self.position_embedding(positions)
        return torch.log_softmax(self.to_logits(self.encoder(x).mean(dim=1)), dim=-1)


def build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes, *, dropout=0.0):
    if embed_dim % num_heads:
        raise ValueError("num_heads does not divide embed_dim")
    layers = [
        EncoderLayer(
            MultiHeadSelfAttention(embed_dim, num_heads),
            FeedForward(embed_dim, dropout=dropout),
            embed_dim,
            dropout=dropout,
        )
        for _ in range(1, depth)
    ]
    encoder = nn.Sequential(*layers)
    return TransformerClassifier(encoder, vocab_size, embed_dim, max_len, num_classes)
