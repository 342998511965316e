"""One raw (k, d, 3) weight and one (d, 3) bias: which of the three it is stands last."""
import torch
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, *, bias=False):
        super().__init__()
        self.table = nn.Parameter(torch.randn(embed_dim, head_dim, 3) * embed_dim**-0.5)
        self.shift = nn.Parameter(torch.zeros(head_dim, 3)) if bias else None

    def forward(self, x):
        made = torch.tensordot(x, self.table, dims=1)
        if self.shift is not None:
            made = made + self.shift
        return made.unbind(-1)


class AttentionHead(QKVProjection):
    def forward(self, x):
        wanted, offered, carried = super().forward(x)
        likeness = wanted.bmm(offered.mT) * wanted.size(2) ** -0.5
        return likeness.softmax(2).bmm(carried)
