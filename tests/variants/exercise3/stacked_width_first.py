"""Everything raw, by name in one ParameterDict, (d, h, k): a head's width stands before the heads."""
import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t = x.shape[:2]
    return torch.stack(x.chunk(num_heads, dim=2), dim=1).view(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    return torch.cat([x[i::num_heads] for i in range(num_heads)], dim=-1)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        wide, rest = divmod(embed_dim, num_heads)
        if rest and not head_dim:
            raise ValueError("the heads cannot share the width")
        d = head_dim or wide
        self.sharpness = d ** -0.25
        roles = ["query", "key", "value", "out"]
        draw = lambda *sizes: nn.Parameter(0.1 * torch.randn(*sizes))
        self.kernels = nn.ParameterDict({role: draw(d, num_heads, embed_dim) for role in roles})
        self.offsets = nn.ParameterDict({"out": draw(embed_dim)})
        for role in roles[:3] if bias else []:
            self.offsets[role] = draw(num_heads, d)

    def project(self, role, x):
        heads = torch.tensordot(x, self.kernels[role], dims=([2], [2]))  # (b, t, d, h)
        return heads.mT + self.offsets[role] if role in self.offsets else heads.mT

    def forward(self, x):
        q, k, v = (self.project(role, x) for role in ("query", "key", "value"))  # (b, t, h, d)
        logits = torch.einsum("bqhd,bshd->bhqs", q * self.sharpness, k * self.sharpness)
        mixed = torch.einsum("bhqs,bshd->bqdh", logits.softmax(3), v)
        return torch.tensordot(mixed, self.kernels["out"], dims=2) + self.offsets["out"]
