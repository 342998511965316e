"""Stacks the cache in one tensor, shifts a column of places, and stops early where nothing is due."""

import torch
import torch.nn.functional as F
from torch import nn

NEG = float("-inf")


def check(temperature, top_k):
    if temperature < 0:
        raise ValueError("temperature has to be 0 or more")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k has to be 1 or more")


def next_token_probabilities(logits, *, temperature=1.0, top_k=None):
    check(temperature, top_k)
    batch, vocab = logits.shape
    if temperature == 0:
        return F.one_hot(torch.argmax(logits, dim=1), num_classes=vocab).type_as(logits)
    out = logits.clone().div_(temperature)
    if top_k is not None:
        best = torch.topk(out, k=min(top_k, vocab), dim=1)
        out[out < best.values[:, -1].view(batch, 1)] = NEG
    return F.softmax(out, dim=1)


class CachedSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("bad number of heads")
        self.heads = num_heads
        self.W_q = nn.Parameter(torch.randn(embed_dim, embed_dim) / embed_dim**0.5)
        self.W_k = nn.Parameter(torch.randn(embed_dim, embed_dim) / embed_dim**0.5)
        self.W_v = nn.Parameter(torch.randn(embed_dim, embed_dim) / embed_dim**0.5)
        self.W_o = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, cache=None):
        b, t, k = x.shape
        split = lambda y: y.unflatten(-1, (self.heads, -1)).movedim(2, 1)
        new = torch.stack([split(x @ w) for w in (self.W_k, self.W_v)])
        both = new if cache is None else torch.cat([cache, new], dim=3)
        keys, values = both
        behind = torch.arange(both.size(3), device=x.device).sub(both.size(3) - t)
        late = behind.expand(t, -1) > torch.arange(t, device=x.device).unsqueeze(1)
        scores = torch.matmul(split(x @ self.W_q), keys.mT)
        scores = torch.where(late, NEG, scores / keys.size(-1) ** 0.5)
        return self.W_o(torch.matmul(scores.softmax(-1), values).movedim(1, 2).flatten(2)), both


def generate(model, prompt, num_tokens, *, temperature=1.0, top_k=None, generator=None):
    if num_tokens == 0:
        return prompt
    mode = model.training
    model.eval()
    with torch.no_grad():
        logits = model(prompt[:, -model.max_len :])[:, -1]
        model.train(mode)
        probabilities = next_token_probabilities(logits, temperature=temperature, top_k=top_k)
        token = torch.multinomial(probabilities, 1, generator=generator)
    longer = torch.cat([prompt, token], dim=1)
    return generate(
        model, longer, num_tokens - 1, temperature=temperature, top_k=top_k, generator=generator
    )
