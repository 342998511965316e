"""A module per head, an additive mask, lists as cache that are made anew, inference mode."""

import torch
from torch import nn


def next_token_probabilities(logits, *, temperature=1.0, top_k=None):
    match (temperature, top_k):
        case (t, _) if t < 0:
            raise ValueError("temperature < 0")
        case (_, int(k)) if k < 1:
            raise ValueError("top_k < 1")
        case (0, _):
            where = torch.arange(logits.shape[-1], device=logits.device)
            return (where == logits.argmax(-1)[:, None]).to(logits)
    kept = logits
    if top_k:
        smallest = logits.topk(min(top_k, logits.shape[-1])).values.amin(-1, keepdim=True)
        kept = logits + torch.zeros_like(logits).masked_fill(logits < smallest, float("-inf"))
    return nn.functional.log_softmax(kept / temperature, dim=-1).exp()


class Head(nn.Module):
    def __init__(self, embed_dim, size):
        super().__init__()
        self.query = nn.Linear(embed_dim, size, bias=False)
        self.key = nn.Linear(embed_dim, size, bias=False)
        self.value = nn.Linear(embed_dim, size, bias=False)

    def forward(self, x, past):
        q, k, v = self.query(x), self.key(x), self.value(x)
        if past is not None:
            k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
        s, t = k.shape[1], q.shape[1]
        mask = torch.full((t, s), float("-inf"), device=x.device, dtype=x.dtype).triu(s - t + 1)
        return (q @ k.mT * q.shape[-1] ** -0.5 + mask).softmax(-1) @ v, [k, v]


class CachedSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        size, rest = divmod(embed_dim, num_heads)
        if rest:
            raise ValueError("embed_dim % num_heads != 0")
        self.heads = nn.ModuleList(Head(embed_dim, size) for _ in range(num_heads))
        self.proj = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, cache=None):
        pasts = cache or [None] * len(self.heads)
        outs = [head(x, past) for head, past in zip(self.heads, pasts)]
        return self.proj(torch.cat([out for out, _ in outs], -1)), [past for _, past in outs]


def generate(model, prompt, num_tokens, *, temperature=1.0, top_k=None, generator=None):
    mode = model.training
    with torch.inference_mode():
        text = prompt
        for _ in range(num_tokens):
            logits = model.eval()(text[:, -model.max_len :])[:, -1]
            p = next_token_probabilities(logits, temperature=temperature, top_k=top_k)
            text = torch.cat([text, p.multinomial(1, generator=generator)], 1)
    model.train(mode)
    return text.clone()
