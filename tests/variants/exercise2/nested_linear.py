"""Each role has a little module of its own with a layer inside: query.linear and so on."""
import math

from torch import Tensor, nn


class Prepare(nn.Module):
    def __init__(self, d_in: int, d_out: int, bias: bool):
        super().__init__()
        self.linear = nn.Linear(d_in, d_out, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        head_shape = x.shape[:-1]
        return self.linear(x).view(*head_shape, -1)


class QKVProjection(nn.Module):
    def __init__(self, embed_dim: int, head_dim: int, bias: bool = False):
        super().__init__()
        self.query = Prepare(embed_dim, head_dim, bias=bias)
        self.key = Prepare(embed_dim, head_dim, bias=bias)
        self.value = Prepare(embed_dim, head_dim, bias=bias)

    def forward(self, x: Tensor):
        return self.query(x), self.key(x), self.value(x)


class AttentionHead(nn.Module):
    def __init__(self, embed_dim: int, head_dim: int, bias: bool = False):
        super().__init__()
        self.prepare = QKVProjection(embed_dim, head_dim, bias)
        self.softmax = nn.Softmax(dim=2)
        self.scale = 1 / math.sqrt(head_dim)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.prepare(x)
        scores = query.matmul(key.transpose(1, 2)) * self.scale
        return self.softmax(scores).matmul(value)
