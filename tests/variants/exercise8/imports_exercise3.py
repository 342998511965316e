"""Folds by exercise 3, and inherits its layers."""

import torch
from exercise3_multi_head import MultiHeadSelfAttention, fold_heads, unfold_heads
from torch import nn


def causal_mask(seq_len, *, device=None):
    return nn.Transformer.generate_square_subsequent_mask(seq_len, device=device) == 0


def padding_mask(lengths, max_len):
    if torch.count_nonzero(lengths > max_len):
        raise ValueError("too long")
    return torch.arange(max_len, device=lengths.device).repeat(len(lengths), 1) < lengths.reshape(-1, 1)


def masked_attention(query, key, value, mask):
    scores = query @ key.mT / query.size(-1) ** 0.5
    bias = torch.zeros(mask.shape, dtype=query.dtype, device=query.device)
    seen = mask.any(-1, keepdim=True)
    bias = bias.masked_fill(~mask & seen, float("-inf"))
    scores = scores.masked_fill(~mask, 0)
    return (scores + bias).softmax(-1).masked_fill(~seen, 0) @ value


class MaskedMultiHeadAttention(MultiHeadSelfAttention):
    def __init__(self, embed_dim, num_heads):
        super().__init__(embed_dim, num_heads)
        self.num_heads = num_heads

    def forward(self, x, mask=None):
        q = fold_heads(self.to_queries(x), self.num_heads)
        k = fold_heads(self.to_keys(x), self.num_heads)
        v = fold_heads(self.to_values(x), self.num_heads)
        b, t = x.shape[:2]
        if mask is None:
            mask = torch.ones(b, t, t, device=x.device).bool()
        while mask.dim() < 3:
            mask = mask[None]
        mask = mask.expand(b, t, t).repeat_interleave(self.num_heads, 0)
        return self.unify_heads(unfold_heads(masked_attention(q, k, v, mask), self.num_heads))
