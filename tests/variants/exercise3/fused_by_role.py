"""One layer to_qkv, its rows role by role, reshaped to (3, b, h, t, d) in one go, as vision code does it."""
from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.shape
    return x.reshape(b, t, num_heads, width // num_heads).transpose(1, 2).reshape(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    return x.reshape(rows // num_heads, num_heads, t, d).transpose(1, 2).reshape(rows // num_heads, t, -1)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            if embed_dim % num_heads != 0:
                raise ValueError("embed_dim must be divisible by num_heads")
            head_dim = embed_dim // num_heads
        self.num_heads = num_heads
        self.scale = head_dim**-0.5
        self.qkv = nn.Linear(embed_dim, 3 * num_heads * head_dim, bias=bias)
        self.proj = nn.Linear(num_heads * head_dim, embed_dim)

    def forward(self, x):
        B, N, _ = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = (q * self.scale) @ k.transpose(-2, -1)
        attn = attn.softmax(dim=-1)
        x = (attn @ v).transpose(1, 2).reshape(B, N, -1)
        return self.proj(x)
