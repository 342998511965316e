"""A ModuleList of exercise 2's AttentionHead, concatenated and unified."""
import exercise2_qkv_projection as exercise2
import torch
import torch.nn as nn


def fold_heads(x, num_heads):
    return torch.stack(x.tensor_split(num_heads, dim=2), dim=1).flatten(0, 1)


def unfold_heads(x, num_heads):
    grouped = x.unflatten(0, (-1, num_heads))
    return torch.cat([grouped[:, i] for i in range(num_heads)], 2)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads:
                raise ValueError("embed_dim not divisible by num_heads")
            head_dim = embed_dim // num_heads
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(exercise2.AttentionHead(embed_dim, head_dim, bias=bias))
        self.unify_heads = nn.Linear(head_dim * num_heads, embed_dim)

    def forward(self, x):
        return self.unify_heads(torch.cat([head(x) for head in self.heads], dim=2))
