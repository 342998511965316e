"""One layer is built and deep-copied, as the annotated transformer clones; the names are a blog's."""
import copy

import torch
from exercise3_multi_head import MultiHeadSelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer
from torch import nn


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


class Encoder(nn.Module):
    def __init__(self, layer, n):
        super().__init__()
        self.layers = clones(layer, n)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class TransformerClassifier(nn.Module):
    def __init__(self, encoder, vocab_size, embed_dim, max_len, num_classes):
        super().__init__()
        self.max_len = max_len
        self.tok_emb = nn.Embedding(vocab_size, embed_dim)
        self.pos_emb = nn.Embedding(max_len, embed_dim)
        self.encoder = encoder
        self.head = nn.Linear(embed_dim, num_classes)

    def forward(self, idx):
        B, T = idx.shape
        if T > self.max_len:
            raise ValueError(f"Cannot forward sequence of length {T}, block size is only {self.max_len}")
        pos = torch.arange(0, T, dtype=torch.long, device=idx.device).unsqueeze(0)
        x = self.tok_emb(idx) + self.pos_emb(pos)
        x = self.encoder(x)
        return nn.functional.log_softmax(self.head(x.mean(1)), dim=-1)


def build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes, dropout=0.0):
    attn = MultiHeadSelfAttention(embed_dim, num_heads)
    ff = FeedForward(embed_dim, dropout=dropout)
    layer = EncoderLayer(attn, ff, embed_dim, dropout=dropout)
    return TransformerClassifier(Encoder(layer, depth), vocab_size, embed_dim, max_len, num_classes)
