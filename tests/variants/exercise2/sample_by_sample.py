"""A loop over the batch with two-dimensional matrices, as on the blackboard."""
import torch
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.Wq = nn.Linear(embed_dim, head_dim, bias=bias)
        self.Wk = nn.Linear(embed_dim, head_dim, bias=bias)
        self.Wv = nn.Linear(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        Q, K, V = [], [], []
        for sample in x:
            Q.append(self.Wq(sample))
            K.append(self.Wk(sample))
            V.append(self.Wv(sample))
        return torch.stack(Q), torch.stack(K), torch.stack(V)


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.P = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        results = []
        for Q, K, V in zip(*self.P(x)):
            S = Q @ K.T / K.shape[1] ** 0.5
            results.append(torch.softmax(S, dim=1) @ V)
        return torch.stack(results)
