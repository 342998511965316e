"""The head has layers named wq, wk and wv and a softmax written out with the largest score subtracted."""
import numpy as np
import torch
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.wq = nn.Linear(embed_dim, head_dim, bias)
        self.wk = nn.Linear(embed_dim, head_dim, bias)
        self.wv = nn.Linear(embed_dim, head_dim, bias)

    def forward(self, x):
        return [self.wq(x), self.wk(x), self.wv(x)]


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super(AttentionHead, self).__init__()
        self.wq = nn.Linear(embed_dim, head_dim, bias)
        self.wk = nn.Linear(embed_dim, head_dim, bias)
        self.wv = nn.Linear(embed_dim, head_dim, bias)
        self.root = float(np.sqrt(head_dim))

    def forward(self, x):
        q, k, v = self.wq(x), self.wk(x), self.wv(x)
        e = torch.matmul(q, k.permute(0, 2, 1)) / self.root
        e = torch.exp(e - torch.max(e, dim=-1, keepdim=True)[0])
        a = e / torch.sum(e, dim=-1, keepdim=True)
        return torch.matmul(a, v)
