"""A base class for embedding tokens, a subclass for classifying, and build_classifier as one more subclass's maker."""
from abc import ABC, abstractmethod

import torch
from exercise3_multi_head import MultiHeadSelfAttention
from exercise4_feed_forward import FeedForward
from exercise5_encoder_layer import EncoderLayer
from exercise6_position_encoding import LearnedPositionEmbedding
from torch import Tensor, nn


class SequenceModel(nn.Module, ABC):
    """Tokens in, something out; subclasses say what is read off the encoded sequence."""

    def __init__(self, encoder: nn.Module, vocab_size: int, embed_dim: int, max_len: int):
        super().__init__()
        self.encoder = encoder
        self.position_embedding = LearnedPositionEmbedding(embed_dim, max_len)
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.max_len = max_len

    @abstractmethod
    def read_out(self, encoded: Tensor) -> Tensor: ...

    def forward(self, tokens: Tensor) -> Tensor:
        if tokens.size(1) > self.max_len:
            raise ValueError(f"max_len is {self.max_len}")
        return self.read_out(self.encoder(self.position_embedding(self.token_embedding(tokens))))


class TransformerClassifier(SequenceModel):
    def __init__(self, encoder: nn.Module, vocab_size: int, embed_dim: int, max_len: int, num_classes: int):
        super().__init__(encoder, vocab_size, embed_dim, max_len)
        self.to_logits = nn.Linear(embed_dim, num_classes)

    def read_out(self, encoded: Tensor) -> Tensor:
        return self.to_logits(encoded.mean(1)).log_softmax(-1)


class EncoderStack(nn.ModuleList):
    """A ModuleList that can be called."""

    def forward(self, x: Tensor) -> Tensor:
        for layer in self:
            x = layer(x)
        return x


def build_classifier(vocab_size, embed_dim, num_heads, depth, max_len, num_classes, *, dropout=0.0):
    stack = EncoderStack()
    while len(stack) < depth:
        stack.append(
            EncoderLayer(
                MultiHeadSelfAttention(embed_dim, num_heads),
                FeedForward(embed_dim, dropout=dropout),
                embed_dim,
                dropout=dropout,
            )
        )
    return TransformerClassifier(stack, vocab_size, embed_dim, max_len, num_classes)


assert issubclass(TransformerClassifier, torch.nn.Module)
