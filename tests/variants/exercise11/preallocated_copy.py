"""A cache with room to spare that is copied before it is written, and the window as a deque."""

from collections import deque

import torch
import torch.nn as nn

ROOM = 16


def next_token_probabilities(logits, *, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k")
    if temperature == 0:
        temperature, top_k = 1.0, None
        best = torch.argmax(logits, dim=-1, keepdim=True)
        mask = torch.arange(logits.size(-1), device=logits.device) != best
    elif top_k is None:
        mask = torch.zeros_like(logits, dtype=torch.bool)
    else:
        larger = (logits.unsqueeze(1) > logits.unsqueeze(2)).sum(-1)  # how many are larger
        mask = larger >= top_k
    return torch.softmax((logits / temperature).masked_fill(mask, -torch.inf), dim=-1)


class CachedSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("num_heads")
        self.num_heads = num_heads
        self.query = nn.Linear(embed_dim, embed_dim, bias=False)
        self.key = nn.Linear(embed_dim, embed_dim, bias=False)
        self.value = nn.Linear(embed_dim, embed_dim, bias=False)
        self.out = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, cache=None):
        b, t, k = x.size()
        h = self.num_heads
        q, new_k, new_v = (
            m(x).view(b, t, h, k // h).transpose(1, 2) for m in (self.query, self.key, self.value)
        )
        if cache is None:
            store, used = x.new_zeros(2, b, h, ROOM, k // h), 0
        else:
            store, used = cache
        end = used + t
        if end > store.size(3):
            store = torch.cat([store, torch.zeros_like(store).repeat(1, 1, 1, t, 1)], dim=3)
        else:
            store = store.clone()
        store[0, :, :, used:end], store[1, :, :, used:end] = new_k, new_v
        keys, values = store[0, :, :, :end], store[1, :, :, :end]
        i = torch.arange(used, end, device=x.device).unsqueeze(1)
        j = torch.arange(end, device=x.device).unsqueeze(0)
        att = q @ keys.transpose(2, 3) / (k // h) ** 0.5
        att = att.masked_fill(j > i, float("-inf")).softmax(-1)
        y = (att @ values).transpose(1, 2).reshape(b, t, k)
        return self.out(y), (store, end)


def generate(model, prompt, num_tokens, *, temperature=1.0, top_k=None, generator=None):
    mode = model.training
    model.eval()
    window = deque(prompt.unbind(1), maxlen=model.max_len)
    written = []
    with torch.no_grad():
        for _ in range(num_tokens):
            logits = model(torch.stack(list(window), 1))[:, -1]
            p = next_token_probabilities(logits, temperature=temperature, top_k=top_k)
            token = torch.multinomial(p, 1, generator=generator).squeeze(1)
            window.append(token)
            written.append(token)
    model.train(mode)
    return torch.stack([*prompt.unbind(1), *written], 1)
