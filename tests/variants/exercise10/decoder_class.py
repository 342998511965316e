"""A decoder class that passes one mask to all blocks; the model inherits the tie from a small embedding class."""
import math

import torch
from torch import Tensor, nn
from exercise4_feed_forward import FeedForward
from exercise8_masks import MaskedMultiHeadAttention, causal_mask


class TiedEmbedding(nn.Embedding):
    """An embedding that can be read backwards."""

    def scores(self, hidden: Tensor) -> Tensor:
        return hidden @ self.weight.mT


def next_token_loss(logits: Tensor, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
    batch, time = tokens.size()
    ends = [time] * batch if lengths is None else lengths.tolist()
    sample, place = [], []
    for i, end in enumerate(ends):
        for p in range(1, end):
            sample.append(i)
            place.append(p)
    if not sample:
        raise ValueError(f"none of {batch} texts has two tokens")
    sample_index = torch.tensor(sample, device=tokens.device)
    place_index = torch.tensor(place, device=tokens.device)
    scores = logits[sample_index, place_index - 1]
    return nn.functional.cross_entropy(scores, tokens[sample_index, place_index].long())


class LanguageModel(nn.Module):
    def __init__(self, decoder: nn.Module, vocab_size: int, embed_dim: int, max_len: int) -> None:
        super().__init__()
        self.token_embedding = TiedEmbedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_len, embed_dim)
        self.decoder = decoder
        self.norm = nn.LayerNorm(embed_dim)
        for table in (self.token_embedding, self.position_embedding):
            nn.init.normal_(table.weight, std=1 / math.sqrt(embed_dim))

    def forward(self, tokens: Tensor) -> Tensor:
        limit, length = self.position_embedding.num_embeddings, tokens.size(1)
        if length > limit:
            raise ValueError(f"length {length} exceeds {limit}")
        positions = torch.arange(length, device=tokens.device).unsqueeze(0)
        embedded = self.token_embedding(tokens) + self.position_embedding(positions)
        return self.token_embedding.scores(self.norm(self.decoder(embedded)))


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.attention = MaskedMultiHeadAttention(embed_dim, num_heads)
        self.feed_forward = FeedForward(embed_dim, dropout=dropout)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)

    def forward(self, x, mask):
        x = x + self.dropout1(self.attention(self.norm1(x), mask))
        return x + self.dropout2(self.feed_forward(self.norm2(x)))


class Decoder(nn.Module):
    def __init__(self, embed_dim, num_heads, depth, dropout):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(depth):
            self.layers.append(DecoderBlock(embed_dim, num_heads, dropout))

    def forward(self, x):
        b, t, _ = x.shape
        mask = causal_mask(t, device=x.device).expand(b, t, t)
        for layer in self.layers:
            x = layer(x, mask)
        return x


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, *, dropout=0.0):
    decoder = Decoder(embed_dim, num_heads, depth, dropout)
    return LanguageModel(decoder, vocab_size, embed_dim, max_len)
