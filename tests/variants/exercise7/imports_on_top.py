"""The ordinary way: imports at the top, nn.Embedding positions, nn.Sequential of layers, F.log_softmax."""
import torch
import torch.nn.functional as F
from torch import nn

from exercise3_multi_head import MultiHeadSelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer


class TransformerClassifier(nn.Module):
    def __init__(self, encoder, vocab_size, embed_dim, max_len, num_classes):
        super().__init__()
        self.max_len = max_len
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_len, embed_dim)
        self.encoder = encoder
        self.to_logits = nn.Linear(embed_dim, num_classes)

    def forward(self, tokens):
        b, t = tokens.size()
        if t > self.max_len:
            raise ValueError(f"sequence length {t} is larger than max_len {self.max_len}")
        positions = torch.arange(t, device=tokens.device)
        x = self.token_embedding(tokens) + self.position_embedding(positions)
        x = self.encoder(x)
        x = x.mean(dim=1)
        return F.log_softmax(self.to_logits(x), dim=1)


def build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes, dropout=0.0):
    layers = []
    for _ in range(depth):
        attention = MultiHeadSelfAttention(embed_dim, num_heads)
        feed_forward = FeedForward(embed_dim, dropout=dropout)
        layers.append(EncoderLayer(attention, feed_forward, embed_dim, dropout=dropout))
    return TransformerClassifier(nn.Sequential(*layers), vocab_size, embed_dim, max_len, num_classes)
