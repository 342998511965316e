"""Softmax by hand with weights of zero for what is hidden; heads by slices; categorical draws."""

import torch
from torch import Tensor, nn


def softmax(scores: Tensor, seen: Tensor) -> Tensor:
    """Softmax over the last axis of what is seen."""
    scores = scores.masked_fill(~seen, -torch.inf)
    scores = scores - scores.amax(dim=-1, keepdim=True)
    powers = scores.exp()
    return powers / powers.sum(dim=-1, keepdim=True)


def next_token_probabilities(logits, *, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("a temperature is at least zero")
    if top_k is None:
        top_k = logits.shape[-1]
    if top_k < 1:
        raise ValueError("top_k is at least one")
    if temperature == 0:
        first = (logits == logits.amax(-1, keepdim=True)).int().argmax(-1)
        return nn.functional.one_hot(first, logits.shape[-1]).to(logits.dtype)
    bar = logits.topk(min(top_k, logits.shape[-1])).values[..., -1, None]
    return softmax(logits / temperature, logits >= bar)


class CachedSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError(f"{embed_dim} / {num_heads}")
        self.size = embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, cache=None):
        new = torch.cat([self.to_keys(x), self.to_values(x)], dim=-1)  # (b, t, 2k)
        cache = new if cache is None else torch.cat([cache, new], dim=1)
        keys, values = cache.chunk(2, dim=-1)
        queries = self.to_queries(x)
        seen = torch.tril(
            torch.ones(x.size(1), cache.size(1), dtype=torch.bool, device=x.device),
            diagonal=cache.size(1) - x.size(1),
        )
        outputs = []
        for start in range(0, x.size(-1), self.size):
            part = slice(start, start + self.size)
            scores = queries[..., part] @ keys[..., part].transpose(1, 2) / self.size**0.5
            outputs.append(softmax(scores, seen) @ values[..., part])
        return self.unify_heads(torch.cat(outputs, dim=-1)), cache


def generate(model, prompt, num_tokens, *, temperature=1.0, top_k=None, generator=None):
    mode, tokens = model.training, prompt
    model.eval()
    while num_tokens > 0:
        num_tokens -= 1
        logits = model(tokens[:, -model.max_len :])[:, -1].detach()
        p = next_token_probabilities(logits, temperature=temperature, top_k=top_k)
        # of waiting times with rates p, the shortest is i with probability p_i
        waiting = torch.empty_like(p).exponential_(generator=generator) / p
        tokens = torch.cat([tokens, waiting.argmin(dim=-1, keepdim=True)], dim=1)
    model.train(mode)
    return tokens
