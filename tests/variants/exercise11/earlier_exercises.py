"""Builds on earlier exercises, folds as exercise 3 does, and guards with small helpers."""

import torch
from exercise3_multi_head import fold_heads, unfold_heads
from torch import nn


def next_token_probabilities(logits, *, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature < 0")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k < 1")
    v = logits.shape[-1]
    if temperature == 0:
        return nn.functional.one_hot(logits.argmax(dim=-1), v).double().to(logits.dtype)
    probs = torch.softmax(logits / temperature, dim=-1)
    if top_k is not None:
        kth = torch.topk(logits, min(top_k, v)).values[:, -1].reshape(-1, 1)
        probs = torch.where(logits < kth, torch.zeros_like(probs), probs)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    return probs


class CachedSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim % num_heads")
        self.num_heads = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, cache=None):
        keys, values = self.to_keys(x), self.to_values(x)
        if cache is not None:
            keys = torch.cat([cache[0], keys], dim=1)
            values = torch.cat([cache[1], values], dim=1)
        q, k, v = (fold_heads(y, self.num_heads) for y in (self.to_queries(x), keys, values))
        scores = q @ k.transpose(1, 2) / q.size(-1) ** 0.5
        past = k.size(1) - q.size(1)
        mask = torch.ones_like(scores, dtype=torch.bool).tril(diagonal=past)
        attended = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1) @ v
        return self.unify_heads(unfold_heads(attended, self.num_heads)), (keys, values)


def generate(model, prompt, num_tokens, *, temperature=1.0, top_k=None, generator=None):
    training = model.training
    model.eval()

    def next_token(tokens):
        with torch.no_grad():
            logits = model(tokens[:, -model.max_len :])
        p = next_token_probabilities(logits[:, -1], temperature=temperature, top_k=top_k)
        return torch.multinomial(p, num_samples=1, generator=generator)

    tokens = prompt
    for _ in range(num_tokens):
        tokens = torch.cat([tokens, next_token(tokens)], dim=1)
    model.train(training)
    return tokens
