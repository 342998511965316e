"""A record with a position as cache, loops over heads, inverse of the sum of probabilities."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class Past:
    keys: list
    values: list
    position: int


def next_token_probabilities(
    logits: Tensor, *, temperature: float = 1.0, top_k: int | None = None
) -> Tensor:
    if temperature < 0:
        raise ValueError("temperature is negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k is less than 1")
    rows = []
    for row in logits:
        if temperature == 0:
            best = int(row.argmax())
            rows.append(torch.stack([row.new_tensor(float(i == best)) for i in range(len(row))]))
            continue
        if top_k is not None and top_k < len(row):
            least = torch.kthvalue(row, len(row) - top_k + 1).values
            row = row.masked_fill(row < least, -torch.inf)
        rows.append(torch.softmax(row / temperature, dim=0))
    return torch.stack(rows)


class CachedSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} does not divide {embed_dim}")
        self.num_heads = num_heads
        self.queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.output = nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor, cache: Past | None = None) -> tuple[Tensor, Past]:
        if cache is None:
            cache = Past([], [], 0)
        past = Past([], [], cache.position + x.size(1))
        heads = []
        parts = zip(
            *(layer(x).chunk(self.num_heads, dim=-1) for layer in (self.queries, self.keys, self.values))
        )
        for number, (q, k, v) in enumerate(parts):
            if cache.position:
                k = torch.cat([cache.keys[number], k], dim=1)
                v = torch.cat([cache.values[number], v], dim=1)
            past.keys.append(k)
            past.values.append(v)
            weights = []
            for i in range(x.size(1)):
                seen = cache.position + i + 1
                score = (q[:, i : i + 1] * k[:, :seen]).sum(-1) / q.size(-1) ** 0.5
                weights.append((score.softmax(-1)[:, None] @ v[:, :seen])[:, 0])
            heads.append(torch.stack(weights, dim=1))
        return self.output(torch.cat(heads, dim=-1)), past


def generate(model, prompt, num_tokens, *, temperature=1.0, top_k=None, generator=None):
    training = model.training
    model.eval()
    length = prompt.size(1)
    tokens = prompt.new_zeros(prompt.size(0), length + num_tokens)
    tokens[:, :length] = prompt
    for end in range(length, length + num_tokens):
        begin = max(0, end - model.max_len)
        logits = model(tokens[:, begin:end]).detach()[:, -1]
        chances = next_token_probabilities(logits, temperature=temperature, top_k=top_k)
        bounds = chances.cumsum(dim=-1)
        point = torch.rand(len(chances), 1, generator=generator, dtype=bounds.dtype)
        point = point.to(bounds.device) * bounds[:, -1:]
        drawn = (bounds <= point).sum(dim=-1)
        tokens[:, end] = drawn.clamp(max=chances.size(-1) - 1)
    model.train(training)
    return tokens
