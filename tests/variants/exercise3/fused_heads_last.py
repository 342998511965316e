"""One layer for queries, keys and values, whose rows lie component by component, heads last."""

from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.shape
    split = x.unflatten(-1, (num_heads, width // num_heads))
    return split.movedim(2, 1).flatten(0, 1)


def unfold_heads(x, num_heads):
    split = x.unflatten(0, (x.size(0) // num_heads, num_heads))
    return split.movedim(1, 2).flatten(2)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            head_dim, left = divmod(embed_dim, num_heads)
            if left:
                raise ValueError("num_heads must divide embed_dim")
        self.heads, self.width = num_heads, head_dim
        self.qkv = nn.Linear(embed_dim, 3 * num_heads * head_dim, bias=bias)
        self.out = nn.Linear(num_heads * head_dim, embed_dim)

    def forward(self, x):
        rows = self.qkv(x).unflatten(-1, (self.width, 3, self.heads))
        q, k, v = rows.permute(3, 0, 4, 1, 2).unbind(0)
        weights = (q @ k.mT / self.width**0.5).softmax(-1)
        return self.out((weights @ v).movedim(1, 2).flatten(2))
