"""Cuts in sorted order and scatters back; keys kept transposed; options collected in a class."""

import torch
from torch import nn


class Sampler:
    def __init__(self, temperature, top_k):
        if temperature < 0:
            raise ValueError("temperature is below 0")
        if top_k is not None and top_k < 1:
            raise ValueError("top_k is below 1")
        self.temperature, self.top_k = temperature, top_k

    def __call__(self, logits):
        if self.temperature == 0:
            hot = torch.zeros_like(logits)
            return hot.scatter_(-1, logits.argmax(-1, keepdim=True), torch.ones_like(logits[:, :1]))
        ranked, order = (logits / self.temperature).sort(descending=True, dim=-1)
        if self.top_k is not None and self.top_k < ranked.size(-1):
            bar = ranked[:, self.top_k - 1 : self.top_k]
            ranked = ranked.masked_fill(ranked < bar, -torch.inf)
        return torch.zeros_like(logits).scatter(-1, order, ranked.softmax(-1))


def next_token_probabilities(logits, *, temperature=1.0, top_k=None):
    return Sampler(temperature, top_k)(logits)


class CachedSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        if num_heads < 1 or embed_dim % num_heads:
            raise ValueError("no such heads")
        super().__init__()
        self.shape = (num_heads, embed_dim // num_heads)
        self.to_queries = nn.Linear(embed_dim, embed_dim, bias=False)
        self.to_keys_values = nn.Linear(embed_dim, 2 * embed_dim, bias=False)
        self.unify_heads = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, cache=None):
        b, t = x.shape[:2]
        q = self.to_queries(x).reshape(b, t, *self.shape).permute(0, 2, 1, 3)
        k, v = self.to_keys_values(x).chunk(2, dim=-1)
        k = k.reshape(b, t, *self.shape).permute(0, 2, 3, 1)  # keys are kept transposed
        v = v.reshape(b, t, *self.shape).permute(0, 2, 1, 3)
        start = 0
        if cache:
            start = cache["length"]
            k = torch.cat([cache["k"], k], -1)
            v = torch.cat([cache["v"], v], -2)
        rows = start + torch.arange(t, device=x.device)
        visible = rows.unsqueeze(-1).ge(torch.arange(start + t, device=x.device))
        scores = torch.matmul(q, k).mul(self.shape[1] ** -0.5)
        scores = scores.masked_fill(visible.logical_not(), torch.finfo(x.dtype).min)
        out = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2)
        return self.unify_heads(out.reshape(b, t, -1)), {"k": k, "v": v, "length": start + t}


def generate(model, prompt, num_tokens, *, temperature=1.0, top_k=None, generator=None):
    sampler = Sampler(temperature, top_k)
    was_training = model.training
    model.eval()
    out = prompt
    with torch.no_grad():
        for _ in range(num_tokens):
            view = out[:, -min(out.size(1), model.max_len) :]
            p = sampler(model(view)[:, -1, :])
            out = torch.cat([out, torch.multinomial(p, 1, False, generator=generator)], dim=1)
    if was_training:
        model.train()
    else:
        model.eval()
    return out
