"""Imports where they are used, one loss a sample weighted by its targets, logits through a lambda-free helper."""
import torch.nn as nn


def _targets_of(n, t):
    return max(min(int(n), t) - 1, 0)


def next_token_loss(logits, tokens, lengths=None):
    from torch.nn.functional import cross_entropy

    t = tokens.size(1)
    counts = [t - 1] * len(tokens) if lengths is None else [_targets_of(n, t) for n in lengths]
    if sum(counts) == 0:
        raise ValueError("empty")
    losses = [
        cross_entropy(logits[i, :n], tokens[i, 1 : n + 1]) * n for i, n in enumerate(counts) if n
    ]
    return sum(losses) / sum(counts)


class LanguageModel(nn.Module):
    def __init__(self, decoder, vocab_size, embed_dim, max_len):
        super().__init__()
        self.position_embedding = nn.Embedding(max_len, embed_dim)
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.norm = nn.LayerNorm(embed_dim)
        self.decoder = decoder

    def read(self, tokens):
        import torch

        numbers = torch.arange(tokens.size(1), device=self.token_embedding.weight.device)
        return self.token_embedding(tokens) + self.position_embedding(numbers)

    def write(self, hidden):
        return nn.functional.linear(self.norm(hidden), self.token_embedding.weight)

    def forward(self, tokens):
        most = self.position_embedding.weight.size(0)
        if most < tokens.size(1):
            raise ValueError(f"at most {most} tokens, not {tokens.size(1)}")
        return self.write(self.decoder(self.read(tokens)))


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, dropout=0.0):
    from exercise4_feed_forward import FeedForward
    from exercise8_masks import MaskedMultiHeadAttention, causal_mask

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList([nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)])
            self.sublayers = nn.ModuleList(
                [MaskedMultiHeadAttention(embed_dim, num_heads), FeedForward(embed_dim, dropout=dropout)]
            )
            self.dropout = nn.Dropout(dropout)

        def forward(self, x):
            mask = causal_mask(x.size(1), device=x.device)
            x = x + self.dropout(self.sublayers[0](self.norms[0](x), mask))
            return x + self.dropout(self.sublayers[1](self.norms[1](x)))

    return LanguageModel(
        nn.Sequential(*(Block() for _ in range(depth))), vocab_size, embed_dim, max_len
    )
