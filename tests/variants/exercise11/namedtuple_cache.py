"""A named tuple as cache, einops' order of axes by hand, greedy apart from drawing."""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class KeysAndValues(NamedTuple):
    keys: Tensor
    values: Tensor

    def extended(self, keys: Tensor, values: Tensor) -> "KeysAndValues":
        return KeysAndValues(torch.cat([self.keys, keys], 1), torch.cat([self.values, values], 1))


def keep_top(logits: Tensor, k: int) -> Tensor:
    if k >= logits.size(-1):
        return logits
    bar = logits.topk(k, dim=-1).values.select(-1, -1).unsqueeze(-1)
    return logits.masked_fill(logits.lt(bar), -torch.inf)


def next_token_probabilities(logits, *, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError(f"temperature={temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k={top_k}")
    if not temperature:
        largest = logits == logits.max(-1, keepdim=True).values
        return (largest & (largest.cumsum(-1) == 1)).to(logits.dtype)
    return keep_top(logits, top_k or logits.size(-1)).div(temperature).softmax(-1)


class CachedSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        assert_divisible(embed_dim, num_heads)
        self.num_heads = num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, cache=None):
        heads = [y.unflatten(-1, (self.num_heads, -1)) for y in self.project(x)]
        queries, fresh = heads[0], KeysAndValues(*heads[1:])
        full = cache.extended(*fresh) if cache else fresh
        scores = torch.einsum("nqhd,nshd->nhqs", queries / queries.size(-1) ** 0.5, full.keys)
        allowed = causal(scores.size(-2), scores.size(-1), x.device)
        weights = scores.where(allowed, scores.new_tensor(-torch.inf)).softmax(-1)
        mixed = torch.einsum("nhqs,nshd->nqhd", weights, full.values)
        return self.out_proj(mixed.flatten(-2)), full

    def project(self, x):
        return self.q_proj(x), self.k_proj(x), self.v_proj(x)


def assert_divisible(width, parts):
    if width % parts:
        raise ValueError(f"{width} cannot be shared by {parts}")


def causal(queries, keys, device):
    return torch.ones(keys, keys, dtype=torch.bool, device=device).tril()[-queries:]


def generate(model, prompt, num_tokens, *, temperature=1.0, top_k=None, generator=None):
    training, tokens = model.training, prompt
    model.train(False)
    for _ in range(num_tokens):
        with torch.no_grad():
            last = model(tokens[:, max(0, tokens.size(1) - model.max_len) :]).select(1, -1)
        if temperature == 0:
            new = last.argmax(-1, keepdim=True)
        else:
            weights = next_token_probabilities(last, temperature=temperature, top_k=top_k)
            new = torch.multinomial(weights, 1, generator=generator)
        tokens = torch.cat((tokens, new), -1)
    model.train(training)
    return tokens
