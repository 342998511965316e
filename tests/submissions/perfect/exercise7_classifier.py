"""A classifier from the parts of the earlier exercises."""

import torch.nn.functional as F
from torch import nn

from exercise3_multi_head import MultiHeadSelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer
from exercise6_position_encoding import LearnedPositionEmbedding


class TransformerClassifier(nn.Module):
    def __init__(self, encoder, vocab_size, embed_dim, max_len, num_classes):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = LearnedPositionEmbedding(embed_dim, max_len)
        self.encoder = encoder
        self.to_logits = nn.Linear(embed_dim, num_classes)

    def forward(self, tokens):
        placed = self.position_embedding(self.token_embedding(tokens))
        mean = self.encoder(placed).sum(1) / tokens.shape[1]
        return F.log_softmax(self.to_logits(mean), dim=-1)


def build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes, dropout=0.0):
    def layer():
        return EncoderLayer(
            MultiHeadSelfAttention(embed_dim, num_heads),
            FeedForward(embed_dim, dropout=dropout),
            embed_dim,
            dropout=dropout,
        )

    encoder = nn.Sequential(*(layer() for _ in range(depth)))
    return TransformerClassifier(encoder, vocab_size, embed_dim, max_len, num_classes)
