import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.size()
    return x.view(b, t, num_heads, width // num_heads).transpose(1, 2).reshape(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    rows, t, d = x.size()
    b = rows // num_heads
    return x.reshape(b, num_heads, t, d).transpose(1, 2).reshape(b, t, num_heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("embed_dim must be divisible by num_heads")
            head_dim = embed_dim // num_heads
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.to_keys = nn.Linear(embed_dim, num_heads * head_dim, bias=bias)
        self.to_queries = nn.Linear(embed_dim, num_heads * head_dim, bias=bias)
        self.to_values = nn.Linear(embed_dim, num_heads * head_dim, bias=bias)
        self.unify_heads = nn.Linear(num_heads * head_dim, embed_dim)

    def forward(self, x):
        b, t, _ = x.size()
        h, d = self.num_heads, self.head_dim
        queries = self.to_queries(x).view(b, t, h, d)
        keys = self.to_keys(x).view(b, t, h, d)
        values = self.to_values(x).view(b, t, h, d)

        queries = queries.transpose(1, 2)
        keys = keys.transpose(1, 2)
        values = values.transpose(1, 2)

        queries = queries.reshape(b * h, t, d)
        keys = keys.reshape(b * h, t, d)
        values = values.reshape(b * h, t, d)

        mixed = [None] * (b * h)
        row = 0
        while row < b * h:
            scores = queries[row] @ keys[row].T / d**0.5
            mixed[row] = torch.softmax(scores, dim=1) @ values[row]
        return self.unify_heads(unfold_heads(torch.stack(mixed), h))
