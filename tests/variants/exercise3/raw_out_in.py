"""Four raw weights stored (out, in), all through F.linear, registered as an nn.ParameterDict."""
import torch
import torch.nn.functional as F
from torch import nn


def fold_heads(x, num_heads):
    b, t, e = x.shape
    return x.reshape(b, t, num_heads, e // num_heads).movedim(2, 1).flatten(end_dim=1)


def unfold_heads(x, num_heads):
    return x.unflatten(0, (x.shape[0] // num_heads, num_heads)).movedim(1, 2).flatten(start_dim=2)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads:
                raise ValueError("embed_dim must be a multiple of num_heads")
            head_dim = embed_dim // num_heads
        inner = num_heads * head_dim
        self.num_heads = num_heads
        self.weights = nn.ParameterDict(
            {
                "query": nn.Parameter(torch.empty(inner, embed_dim)),
                "key": nn.Parameter(torch.empty(inner, embed_dim)),
                "value": nn.Parameter(torch.empty(inner, embed_dim)),
                "output": nn.Parameter(torch.empty(embed_dim, inner)),
            }
        )
        self.biases = nn.ParameterDict({"output": nn.Parameter(torch.zeros(embed_dim))})
        if bias:
            for role in ("query", "key", "value"):
                self.biases[role] = nn.Parameter(torch.zeros(inner))
        for weight in self.weights.values():
            nn.init.xavier_normal_(weight)

    def _linear(self, x, role):
        bias = self.biases[role] if role in self.biases else None
        return F.linear(x, self.weights[role], bias)

    def forward(self, x):
        q, k, v = [fold_heads(self._linear(x, role), self.num_heads) for role in ("query", "key", "value")]
        scores = torch.matmul(q, k.transpose(1, 2)) / q.size(-1) ** 0.5
        mixed = torch.matmul(F.softmax(scores, dim=-1), v)
        return self._linear(unfold_heads(mixed, self.num_heads), "output")
