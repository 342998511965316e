"""Three layers without telling names, values made first and queries last."""
import torch
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.lin1, self.lin2, self.lin3 = (nn.Linear(embed_dim, head_dim, bias=bias) for _ in range(3))

    def forward(self, x):
        third, second, first = self.lin1(x), self.lin2(x), self.lin3(x)
        return first, second, third


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.inner = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        first, second, third = self.inner(x)
        return torch.softmax(first @ second.mT * first.size(-1) ** -0.5, -1) @ third
