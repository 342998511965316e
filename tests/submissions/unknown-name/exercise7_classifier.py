import torch
import torch.nn.functional as F
from torch import nn

from exercise3_multi_head import MultiHeadSelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer


class Block(nn.Module):
    def __init__(self, k, n_heads):
        super().__init__()
        self.layer = EncoderLayer(MultiHeadSelfAttention(k, heads), FeedForward(k), k)

    def forward(self, x):
        return self.layer(x)


class TransformerClassifier(nn.Module):
    def __init__(self, encoder, vocab_size, embed_dim, max_len, num_classes):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_len, embed_dim)
        self.encoder = encoder
        self.to_logits = nn.Linear(embed_dim, num_classes)
        self.max_len = max_len

    def forward(self, tokens):
        b, t = tokens.size()
        if t > self.max_len:
            raise ValueError(f"at most {self.max_len} tokens, got {t}")
        positions = self.position_embedding(torch.arange(t, device=tokens.device))
        x = self.encoder(self.token_embedding(tokens) + positions)
        return F.log_softmax(self.to_logits(x.mean(dim=1)), dim=1)


def build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes, dropout=0.0):
    blocks = [Block(embed_dim, n_heads=num_heads) for _ in range(depth)]
    return TransformerClassifier(
        nn.Sequential(*blocks), vocab_size, embed_dim, max_len, num_classes
    )
