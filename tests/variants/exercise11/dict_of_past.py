"""A dict as cache, heads folded into the batch, sorting for the k-th value, try and finally."""

import torch
from torch import nn


def next_token_probabilities(logits, *, temperature=1.0, top_k=None):
    if temperature < 0 or (top_k is not None and top_k <= 0):
        raise ValueError(f"cannot use temperature={temperature}, top_k={top_k}")
    vocab = logits.shape[1]
    if temperature == 0:
        return torch.eye(vocab, dtype=logits.dtype, device=logits.device)[logits.max(dim=1).indices]
    if top_k is not None and top_k < vocab:
        limit = logits.sort(dim=1, descending=True).values[:, top_k - 1].unsqueeze(1)
        logits = torch.where(logits >= limit, logits, float("-inf"))
    return torch.softmax(logits / temperature, dim=1)


class CachedSelfAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("the heads cannot share the width")
        self.h = num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim)

    def _fold(self, y):
        b, t, k = y.shape
        return y.view(b, t, self.h, k // self.h).transpose(1, 2).reshape(b * self.h, t, k // self.h)

    def forward(self, x, cache=None):
        b, t, k = x.shape
        queries = self._fold(self.to_queries(x))
        fresh = {"keys": self._fold(self.to_keys(x)), "values": self._fold(self.to_values(x))}
        past = 0
        if cache is not None:
            past = cache["keys"].shape[1]
            fresh = {name: torch.cat([cache[name], new], dim=1) for name, new in fresh.items()}
        scores = torch.bmm(queries, fresh["keys"].transpose(1, 2)) / (k // self.h) ** 0.5
        hidden = torch.ones(t, past + t, dtype=torch.bool, device=x.device).triu(diagonal=past + 1)
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=2)
        heads = torch.bmm(weights, fresh["values"]).view(b, self.h, t, k // self.h)
        return self.unify_heads(heads.transpose(1, 2).reshape(b, t, k)), fresh


def generate(model, prompt, num_tokens, *, temperature=1.0, top_k=None, generator=None):
    mode = model.training
    model.eval()
    try:
        with torch.no_grad():
            tokens = prompt.clone()
            while tokens.shape[1] < prompt.shape[1] + num_tokens:
                logits = model(tokens[:, -model.max_len :])
                probs = next_token_probabilities(
                    logits[:, -1], temperature=temperature, top_k=top_k
                )
                tokens = torch.hstack(
                    [tokens, torch.multinomial(probs, 1, replacement=True, generator=generator)]
                )
            return tokens
    finally:
        model.train(mode)
