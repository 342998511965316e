"""Token and position embedding live together in a module of their own, the last two steps in an nn.Sequential."""
import math
from collections import OrderedDict

import torch
import torch.nn as nn
from exercise3_multi_head import MultiHeadSelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer


class Embeddings(nn.Module):
    def __init__(self, vocab_size, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.token = nn.Embedding(vocab_size, embed_dim)
        self.position = nn.Embedding(max_len, embed_dim)
        for table in (self.token, self.position):
            nn.init.normal_(table.weight, std=1 / math.sqrt(embed_dim))

    def forward(self, tokens):
        if tokens.size(1) > self.max_len:
            raise ValueError(f"only {self.max_len} positions were trained, {tokens.size(1)} are asked for")
        positions = torch.arange(tokens.size(1), device=tokens.device).expand_as(tokens)
        return self.token(tokens) + self.position(positions)


class TransformerClassifier(nn.Module):
    def __init__(self, encoder, vocab_size, embed_dim, max_len, num_classes):
        super().__init__()
        self.embeddings = Embeddings(vocab_size, embed_dim, max_len)
        self.encoder = encoder
        self.output = nn.Sequential(
            OrderedDict([("linear", nn.Linear(embed_dim, num_classes)), ("log_softmax", nn.LogSoftmax(dim=1))])
        )

    def forward(self, tokens):
        hidden = self.encoder(self.embeddings(tokens))
        return self.output(hidden.mean(dim=1))


def build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes, dropout=0.0):
    layers = OrderedDict()
    for i in range(depth):
        layers[f"block{i}"] = EncoderLayer(
            MultiHeadSelfAttention(embed_dim, num_heads, bias=False),
            FeedForward(embed_dim, dropout=dropout),
            embed_dim,
            norm_first=False,
            dropout=dropout,
        )
    encoder = nn.Sequential(layers)
    return TransformerClassifier(encoder, vocab_size, embed_dim, max_len, num_classes)
