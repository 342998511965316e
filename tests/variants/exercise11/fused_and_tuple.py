"""One fused projection, a tuple as cache, a mask cut out of a square; as in a well-known small code."""

import math

import torch
import torch.nn as nn
from torch.nn import functional as F


def next_token_probabilities(logits, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("temperature must not be negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if temperature == 0:
        probs = torch.zeros_like(logits)
        probs[torch.arange(len(logits), device=logits.device), logits.argmax(-1)] = 1
        return probs
    logits = logits / temperature
    if top_k is not None:
        v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
        logits[logits < v[:, [-1]]] = -float("Inf")
    return F.softmax(logits, dim=-1)


class CachedSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim must be a multiple of num_heads")
        self.c_attn = nn.Linear(embed_dim, 3 * embed_dim, bias=False)
        self.c_proj = nn.Linear(embed_dim, embed_dim)
        self.n_head = num_heads
        self.n_embd = embed_dim

    def forward(self, x, cache=None):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (y.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for y in (q, k, v))
        if cache is not None:
            k = torch.cat((cache[0], k), dim=2)
            v = torch.cat((cache[1], v), dim=2)
        S = k.size(2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        bias = torch.tril(torch.ones(S, S, device=x.device)).view(1, 1, S, S)
        att = att.masked_fill(bias[:, :, S - T : S, :S] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y), (k, v)


@torch.no_grad()
def generate(model, prompt, num_tokens, temperature=1.0, top_k=None, generator=None):
    was_training = model.training
    model.eval()
    idx = prompt
    for _ in range(num_tokens):
        idx_cond = idx if idx.size(1) <= model.max_len else idx[:, -model.max_len :]
        logits = model(idx_cond)
        logits = logits[:, -1, :]
        probs = next_token_probabilities(logits, temperature, top_k)
        idx_next = torch.multinomial(probs, num_samples=1, generator=generator)
        idx = torch.cat((idx, idx_next), dim=1)
    if was_training:
        model.train()
    return idx
