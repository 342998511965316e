"""Three projections in a dictionary of modules, and a head that uses them."""

from torch import nn

from exercise1_attention import scaled_dot_product_attention as attend


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        for part in "queries", "keys", "values":
            setattr(self, f"to_{part}", nn.Linear(embed_dim, head_dim, bias))

    def forward(self, x):
        return self.to_queries(x), self.to_keys(x), self.to_values(x)


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias)

    def forward(self, x):
        return attend(*self.projection(x))
