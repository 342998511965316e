"""Blocks are exercise 5's layer, pre-norm, around an attention that brings its own mask; exercise 6's positions."""
import torch
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer
from exercise6_position_encoding import LearnedPositionEmbedding
from exercise8_masks import MaskedMultiHeadAttention, causal_mask
from torch import Tensor, nn


def next_token_loss(logits: Tensor, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
    loss_function = nn.CrossEntropyLoss()
    if lengths is None:
        predictions, targets = logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten()
    else:
        pairs = [(l[: n - 1], w[1:n]) for l, w, n in zip(logits, tokens, lengths) if n > 1]
        if not pairs:
            raise ValueError("all texts are too short")
        predictions = torch.cat([pair[0] for pair in pairs])
        targets = torch.cat([pair[1] for pair in pairs])
    if len(targets) == 0:
        raise ValueError("all texts are too short")
    return loss_function(predictions, targets)


class LanguageModel(nn.Module):
    def __init__(self, decoder: nn.Module, vocab_size: int, embed_dim: int, max_len: int):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = LearnedPositionEmbedding(embed_dim, max_len)
        self.decoder = decoder
        self.norm = nn.LayerNorm(embed_dim)

    def forward(self, tokens: Tensor) -> Tensor:
        embedded = self.position_embedding(self.token_embedding(tokens))
        hidden = self.norm(self.decoder(embedded))
        return torch.matmul(hidden, self.token_embedding.weight.t())


class CausalAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.inner = MaskedMultiHeadAttention(embed_dim, num_heads)

    def forward(self, x):
        return self.inner(x, causal_mask(x.size(1), device=x.device))


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, *, dropout=0.0):
    layers = [
        EncoderLayer(
            CausalAttention(embed_dim, num_heads),
            FeedForward(embed_dim, dropout=dropout),
            embed_dim,
            norm_first=True,
            dropout=dropout,
        )
        for _ in range(depth)
    ]
    return LanguageModel(nn.Sequential(*layers), vocab_size, embed_dim, max_len)
