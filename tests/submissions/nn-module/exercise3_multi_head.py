from torch import nn

from exercise1_attention import scaled_dot_product_attention as attend


def fold_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).movedim(2, 1).flatten(0, 1)


def unfold_heads(x, num_heads):
    return x.unflatten(0, (-1, num_heads)).movedim(1, 2).flatten(2)


class MultiHeadSelfAttention(nn.module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None:
            head_dim, rest = divmod(embed_dim, num_heads)
            if rest:
                raise ValueError(f"embed_dim={embed_dim} is no multiple of num_heads={num_heads}")
        width = head_dim * num_heads
        self.heads = num_heads
        self.to_queries = nn.Linear(embed_dim, width, bias=bias)
        self.to_keys = nn.Linear(embed_dim, width, bias=bias)
        self.to_values = nn.Linear(embed_dim, width, bias=bias)
        self.unify_heads = nn.Linear(width, embed_dim)

    def forward(self, x):
        parts = [layer(x) for layer in (self.to_queries, self.to_keys, self.to_values)]
        mixed = attend(*(fold_heads(part, self.heads) for part in parts))
        return self.unify_heads(unfold_heads(mixed, self.heads))
