"""The blog's attribute names (token_emb, pos_emb, toprobs) and its expand over the batch."""
import torch
import torch.nn.functional as F
from exercise3_multi_head import MultiHeadSelfAttention as SelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer as TransformerBlock
from torch import nn


class TransformerClassifier(nn.Module):
    def __init__(self, encoder, vocab_size, embed_dim, max_len, num_classes):
        super().__init__()
        self.num_tokens = vocab_size
        self.seq_length = max_len
        self.token_emb = nn.Embedding(vocab_size, embed_dim)
        self.pos_emb = nn.Embedding(max_len, embed_dim)
        self.tblocks = encoder
        # maps the final output sequence to class logits
        self.toprobs = nn.Linear(embed_dim, num_classes)

    def forward(self, x):
        """
        :param x: A (b, t) tensor of integer values representing words.
        :return: A (b, c) tensor of log-probabilities over the classes.
        """
        tokens = self.token_emb(x)
        b, t, k = tokens.size()
        if t > self.seq_length:
            raise ValueError("input is longer than seq_length")
        positions = torch.arange(t, device=x.device)
        positions = self.pos_emb(positions)[None, :, :].expand(b, t, k)
        x = self.tblocks(tokens + positions)
        x = self.toprobs(x.mean(dim=1))
        return F.log_softmax(x, dim=1)


def build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes, dropout=0.0):
    k = embed_dim
    tblocks = [
        TransformerBlock(SelfAttention(k, num_heads), FeedForward(k, dropout=dropout), k, dropout=dropout)
        for i in range(depth)
    ]
    return TransformerClassifier(nn.Sequential(*tblocks), vocab_size, k, max_len, num_classes)
