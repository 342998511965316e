"""Three nn.ModuleLists with a small projection for each head, a loop, and a concatenation."""
import torch
from torch import nn


def fold_heads(x, num_heads):
    parts = torch.chunk(x, num_heads, dim=-1)  # h tensors (b, t, d)
    return torch.stack(parts, dim=1).flatten(0, 1)


def unfold_heads(x, num_heads):
    # rows i, i + h, i + 2h, ... belong to head i
    return torch.cat([x[i::num_heads] for i in range(num_heads)], dim=-1)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError(f"embed_dim={embed_dim} does not divide into {num_heads} heads")
            head_dim = embed_dim // num_heads

        def per_head():
            return nn.ModuleList([nn.Linear(embed_dim, head_dim, bias=bias) for _ in range(num_heads)])

        self.q_projs = per_head()
        self.k_projs = per_head()
        self.v_projs = per_head()
        self.out_proj = nn.Linear(num_heads * head_dim, embed_dim)
        self.scale = head_dim**0.5

    def forward(self, x):
        outs = []
        for to_q, to_k, to_v in zip(self.q_projs, self.k_projs, self.v_projs):
            scores = to_q(x) @ to_k(x).transpose(1, 2) / self.scale
            outs.append(torch.softmax(scores, dim=-1) @ to_v(x))
        return self.out_proj(torch.cat(outs, dim=-1))
