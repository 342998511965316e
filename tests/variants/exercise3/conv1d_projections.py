"""All four maps are nn.Conv1d of width one, channels in the middle throughout."""
import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t, channels = x.shape
    d = channels // num_heads
    out = x.new_empty(b * num_heads, t, d)
    for sample in range(b):
        for head in range(num_heads):
            out[sample * num_heads + head] = x[sample, :, head * d : (head + 1) * d]
    return out


def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    samples = []
    for start in range(0, rows, num_heads):
        samples.append(torch.cat([x[start + head] for head in range(num_heads)], dim=1))
    return torch.stack(samples)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads > 0:
                raise ValueError("embed_dim modulo num_heads should be zero, is %d" % (embed_dim % num_heads))
            head_dim = embed_dim // num_heads
        self.num_heads, self.head_dim = num_heads, head_dim
        inner = num_heads * head_dim
        self.conv_q = nn.Conv1d(embed_dim, inner, 1, bias=bias)
        self.conv_k = nn.Conv1d(embed_dim, inner, 1, bias=bias)
        self.conv_v = nn.Conv1d(embed_dim, inner, 1, bias=bias)
        self.conv_o = nn.Conv1d(inner, embed_dim, 1)

    def forward(self, x):
        b, t, _ = x.shape
        xt = x.transpose(1, 2)
        # (b, h*d, t) -> (b, h, d, t)
        q = self.conv_q(xt).reshape(b, self.num_heads, self.head_dim, t)
        k = self.conv_k(xt).reshape(b, self.num_heads, self.head_dim, t)
        v = self.conv_v(xt).reshape(b, self.num_heads, self.head_dim, t)
        weights = torch.softmax(q.transpose(2, 3) @ k / self.head_dim**0.5, dim=-1)
        out = v @ weights.transpose(2, 3)  # (b, h, d, t)
        return self.conv_o(out.reshape(b, -1, t)).transpose(1, 2)
