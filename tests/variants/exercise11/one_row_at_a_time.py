"""Everything for one sample or one position at a time."""

import math

import torch
from torch import nn


def next_token_probabilities(logits, *, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("no negative temperatures")
    if top_k is not None and top_k < 1:
        raise ValueError("nothing would be left")
    result = torch.zeros_like(logits)
    for b in range(logits.shape[0]):
        if temperature == 0:
            result[b, torch.argmax(logits[b])] = 1.0
            continue
        z = logits[b] / temperature
        if top_k is not None:
            ordered, _ = torch.sort(z, descending=True)
            bar = ordered[min(top_k, len(ordered)) - 1]
            z = torch.where(z >= bar, z, torch.full_like(z, -math.inf))
        z = torch.exp(z - z.max())
        result[b] = z / z.sum()
    return result


class CachedSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim has to be divisible by num_heads")
        self.n, self.d = num_heads, embed_dim // num_heads
        self.wq = nn.Linear(embed_dim, embed_dim, bias=False)
        self.wk = nn.Linear(embed_dim, embed_dim, bias=False)
        self.wv = nn.Linear(embed_dim, embed_dim, bias=False)
        self.wo = nn.Linear(embed_dim, embed_dim)

    def step(self, x, cache):
        """One position (b, k)."""
        b = x.shape[0]
        key = self.wk(x).view(b, 1, self.n, self.d)
        value = self.wv(x).view(b, 1, self.n, self.d)
        keys = torch.cat([*cache[0], key], dim=1)
        values = torch.cat([*cache[1], value], dim=1)
        query = self.wq(x).view(b, 1, self.n, self.d)
        scores = (query * keys).sum(-1) / math.sqrt(self.d)  # (b, s, n)
        weights = torch.softmax(scores, dim=1).unsqueeze(-1)
        out = (weights * values).sum(1).reshape(b, -1)
        return self.wo(out), ([*cache[0], key], [*cache[1], value])

    def forward(self, x, cache=None):
        cache = ([], []) if cache is None else cache
        outs = []
        for i in range(x.shape[1]):
            out, cache = self.step(x[:, i], cache)
            outs.append(out)
        return torch.stack(outs, dim=1), cache


@torch.no_grad()
def generate(model, prompt, num_tokens, *, temperature=1.0, top_k=None, generator=None):
    before = model.training
    model.eval()
    rows = []
    for row in prompt:
        for _ in range(num_tokens):
            logits = model(row[-model.max_len :].unsqueeze(0))[0, -1]
            p = next_token_probabilities(logits.unsqueeze(0), temperature=temperature, top_k=top_k)
            row = torch.cat([row, torch.multinomial(p[0], 1, generator=generator)])
        rows.append(row)
    model.train(before)
    return torch.stack(rows)
