"""Wide linears, and then a loop that slices each head's columns out of them."""
import math

import torch
import torch.nn as nn


def fold_heads(x, num_heads):
    b, t, width = x.size()
    d = width // num_heads
    folded = [x[:, :, i * d : (i + 1) * d] for i in range(num_heads)]
    return torch.stack(folded, dim=1).view(b * num_heads, t, d)


def unfold_heads(x, num_heads):
    n, t, d = x.size()
    per_sample = x.reshape(n // num_heads, num_heads, t, d)
    return torch.cat(per_sample.unbind(dim=1), dim=-1)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            head_dim = embed_dim // num_heads
            if head_dim * num_heads != embed_dim:
                raise ValueError("embed_dim must be num_heads * head_dim")
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.all_head_size = num_heads * head_dim
        self.query = nn.Linear(embed_dim, self.all_head_size, bias=bias)
        self.key = nn.Linear(embed_dim, self.all_head_size, bias=bias)
        self.value = nn.Linear(embed_dim, self.all_head_size, bias=bias)
        self.dense = nn.Linear(self.all_head_size, embed_dim)

    def forward(self, x):
        query, key, value = self.query(x), self.key(x), self.value(x)
        context = torch.zeros_like(value)
        for head in range(self.num_heads):
            columns = slice(head * self.head_dim, (head + 1) * self.head_dim)
            scores = query[..., columns] @ key[..., columns].transpose(1, 2)
            probs = (scores / math.sqrt(self.head_dim)).softmax(dim=-1)
            context[..., columns] = probs @ value[..., columns]
        return self.dense(context)
