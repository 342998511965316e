"""A small GPT, its loss by cross_entropy."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from exercise4_feed_forward import FeedForward
from exercise8_masks import MaskedMultiHeadAttention, causal_mask


def next_token_loss(logits, tokens, lengths=None):
    shift_logits = logits[..., :-1, :].contiguous()
    shift_labels = tokens[..., 1:].contiguous().clone()
    if lengths is not None:
        pos = torch.arange(1, tokens.shape[1], device=tokens.device).unsqueeze(0)
        shift_labels[pos >= lengths.unsqueeze(1)] = -100
    if (shift_labels == -100).all():
        raise ValueError("nothing to predict")
    return F.cross_entropy(
        shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1), ignore_index=-100
    )


class LanguageModel(nn.Module):
    def __init__(self, decoder, vocab_size, embed_dim, max_len):
        super().__init__()
        self.max_len = max_len
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Embedding(max_len, embed_dim)
        self.decoder = decoder
        self.norm = nn.LayerNorm(embed_dim)
        self.lm_head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.lm_head.weight = self.token_embedding.weight

    def forward(self, tokens):
        B, T = tokens.shape
        if T > self.max_len:
            raise ValueError(f"sequence of length {T} exceeds max_len {self.max_len}")
        pos = torch.arange(0, T, dtype=torch.long, device=tokens.device)
        x = self.token_embedding(tokens) + self.position_embedding(pos)
        x = self.decoder(x)
        x = self.norm(x)
        return self.lm_head(x)


class Block(nn.Module):
    def __init__(self, n_embd, n_head, dropout):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = MaskedMultiHeadAttention(n_embd, n_head)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = FeedForward(n_embd, dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        mask = causal_mask(x.size(1), device=x.device)
        x = x + self.dropout(self.attn(self.ln_1(x), mask))
        x = x + self.dropout(self.mlp(self.ln_2(x)))
        return x


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, *, dropout=0.0):
    decoder = nn.Sequential(*[Block(embed_dim, num_heads, dropout) for _ in range(depth)])
    return LanguageModel(decoder, vocab_size, embed_dim, max_len)
