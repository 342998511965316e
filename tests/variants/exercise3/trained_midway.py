"""A demonstration with an optimizer stands between the functions; torch's own is compared."""

import torch
from torch import nn
from exercise1_attention import scaled_dot_product_attention


def fold_heads(x, num_heads):
    b, t, e = x.shape
    return x.reshape(b, t, num_heads, e // num_heads).transpose(1, 2).flatten(0, 1)


lin = nn.Linear(4, 4)
optim = torch.optim.AdamW(lin.parameters(), lr=3e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, T_max=10)
for _ in range(2):
    optim.zero_grad(set_to_none=True)
    lin(torch.randn(3, 4)).pow(2).sum().backward()
    nn.utils.clip_grad_norm_(lin.parameters(), 1.0)
    optim.step()
    sched.step()


def unfold_heads(x, num_heads):
    return x.unflatten(0, (-1, num_heads)).transpose(1, 2).flatten(-2)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.num_heads = num_heads
        d = head_dim or embed_dim // num_heads
        self.W_qkv = nn.Linear(embed_dim, 3 * num_heads * d, bias=bias)
        self.W_o = nn.Linear(num_heads * d, embed_dim)

    def forward(self, x):
        q, k, v = (fold_heads(y, self.num_heads) for y in self.W_qkv(x).tensor_split(3, dim=-1))
        return self.W_o(unfold_heads(scaled_dot_product_attention(q, k, v), self.num_heads))


if __name__ == "__main__":
    model = MultiHeadSelfAttention(16, 4)
    ref = nn.MultiheadAttention(16, 4, bias=False, batch_first=True)
    print(ref, model)
