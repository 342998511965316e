"""A list of layers, one a head, for each projection; the lists are numbered and not named."""

import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.shape
    return x.view(b, t, num_heads, width // num_heads).transpose(1, 2).reshape(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    return x.view(rows // num_heads, num_heads, t, d).transpose(1, 2).reshape(-1, t, num_heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads:
            raise ValueError("embed_dim has to be a multiple of num_heads")
        d = head_dim or embed_dim // num_heads

        def heads():
            return nn.ModuleList([nn.Linear(embed_dim, d, bias=bias) for _ in range(num_heads)])

        self.fc1, self.fc2, self.fc3 = heads(), heads(), heads()
        self.fc4 = nn.Linear(num_heads * d, embed_dim)
        self.scale = d**-0.5

    def forward(self, x):
        outputs = []
        for to_value, to_key, to_query in zip(self.fc1, self.fc2, self.fc3, strict=True):
            scores = to_query(x) @ to_key(x).transpose(-2, -1) * self.scale
            outputs.append(torch.softmax(scores, dim=-1) @ to_value(x))
        return self.fc4(torch.cat(outputs, dim=-1))
