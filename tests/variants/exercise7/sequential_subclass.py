"""One Sequential from tokens to log-probabilities; layers are copies of a first one."""

import copy

from exercise3_multi_head import MultiHeadSelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer
from torch import nn


class Entrance(nn.Module):
    def __init__(self, vocab_size, embed_dim, max_len):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_len, embed_dim)

    def forward(self, tokens):
        t, limit = tokens.shape[1], self.position_embedding.num_embeddings
        if t > limit:
            raise ValueError(f"{t} tokens are more than {limit}")
        return self.token_embedding(tokens).add_(self.position_embedding.weight[:t])


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(-2)


class TransformerClassifier(nn.Sequential):
    def __init__(self, encoder, vocab_size, embed_dim, max_len, num_classes):
        super().__init__(
            Entrance(vocab_size, embed_dim, max_len),
            encoder,
            Mean(),
            nn.Linear(embed_dim, num_classes),
            nn.LogSoftmax(1),
        )


def build_classifier(
    vocab_size, embed_dim, num_heads, depth, max_len, num_classes, *, dropout=0.0
):
    attention = MultiHeadSelfAttention(embed_dim, num_heads)
    feed_forward = FeedForward(embed_dim, dropout=dropout)
    first = EncoderLayer(attention, feed_forward, embed_dim, dropout=dropout)
    encoder = nn.Sequential(*[copy.deepcopy(first) for _ in range(depth)])
    return TransformerClassifier(encoder, vocab_size, embed_dim, max_len, num_classes)
