"""Keeps the inputs so far in place of keys and values, and draws with noise of Gumbel's."""

import torch
import torch.nn as nn


def next_token_probabilities(logits, *, temperature=1.0, top_k=None):
    if temperature < 0:
        raise ValueError("negative temperature")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k below one")
    if temperature == 0:
        return torch.zeros_like(logits).scatter(1, logits.argmax(1, keepdim=True), 1.0)
    if top_k is None:
        top_k = logits.size(1)
    kth = logits.topk(min(top_k, logits.size(1)), dim=1)[0].min(dim=1, keepdim=True)[0]
    powers = ((logits - logits.amax(1, keepdim=True)) / temperature).exp() * (logits >= kth)
    return powers / powers.sum(1, keepdim=True)


class CachedSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("not divisible")
        self.num_heads, self.size = num_heads, embed_dim // num_heads
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, cache=None):
        seen = x if cache is None else torch.cat([cache, x], dim=1)
        b, s, k = seen.shape
        shape = (b, -1, self.num_heads, self.size)
        q = self.to_queries(x).reshape(shape)
        k_, v = self.to_keys(seen).reshape(shape), self.to_values(seen).reshape(shape)
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k_) / self.size**0.5
        last = torch.arange(s - x.size(1), s, device=x.device)
        ahead = torch.arange(s, device=x.device)[None, :] > last[:, None]
        weights = torch.softmax(scores.masked_fill(ahead, -torch.inf), dim=-1)
        out = torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2)
        return self.unify_heads(out), seen


def generate(model, prompt, num_tokens, *, temperature=1.0, top_k=None, generator=None):
    pieces, came = [prompt], model.training
    model.train(False)
    for _ in range(num_tokens):
        with torch.no_grad():
            logits = model(torch.cat(pieces, dim=1)[:, -model.max_len :])[:, -1, :]
        probs = next_token_probabilities(logits, temperature=temperature, top_k=top_k)
        # the largest of log p + Gumbel noise is a draw from p
        noise = torch.rand(probs.shape, generator=generator, dtype=torch.float64)
        gumbel = -torch.log(-torch.log(noise.clamp(1e-300, 1 - 1e-16))).to(probs.device)
        pieces.append((probs.double().log() + gumbel).argmax(dim=1, keepdim=True))
    model.train(came)
    return torch.cat(pieces, dim=1)
