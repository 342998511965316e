"""Imports inside build_classifier, exercise 6's learned module for the positions, nn.LogSoftmax as a module."""
import torch.nn as nn


class TransformerClassifier(nn.Module):
    def __init__(self, encoder, vocab_size, embed_dim, max_len, num_classes):
        super().__init__()
        from exercise6_position_encoding import LearnedPositionEmbedding

        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = LearnedPositionEmbedding(embed_dim, max_len)
        self.encoder = encoder
        self.to_logits = nn.Linear(embed_dim, num_classes)
        self.log_softmax = nn.LogSoftmax(dim=-1)

    def forward(self, tokens):
        embedded = self.position_embedding(self.token_embedding(tokens))
        encoded = self.encoder(embedded)
        pooled = encoded.sum(dim=1) / encoded.size(1)
        return self.log_softmax(self.to_logits(pooled))


def build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes, dropout=0.0):
    from exercise3_multi_head import MultiHeadSelfAttention
    from exercise4_feed_forward import FeedForward
    from exercise5_encoder_layer import EncoderLayer

    def layer():
        return EncoderLayer(
            MultiHeadSelfAttention(embed_dim, num_heads),
            FeedForward(embed_dim, dropout=dropout),
            embed_dim,
            dropout=dropout,
        )

    encoder = nn.Sequential(*(layer() for _ in range(depth)))
    return TransformerClassifier(encoder, vocab_size, embed_dim, max_len, num_classes)
