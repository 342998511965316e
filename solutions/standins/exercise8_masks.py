"""Stand-in for exercise 8, made of torch's own functions."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def causal_mask(seq_len: int, *, device: torch.device | str | None = None) -> Tensor:
    """Return (t, t), true where a position is not later."""
    return torch.ones(seq_len, seq_len, device=device).tril().bool()


def padding_mask(lengths: Tensor, max_len: int) -> Tensor:
    """Return (b, max_len), true at real tokens."""
    if lengths.numel() and int(lengths.max()) > max_len:
        raise ValueError(f"{int(lengths.max())} tokens are more than {max_len}")
    return torch.arange(max_len, device=lengths.device) < lengths.unsqueeze(-1)


def masked_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Return attention where the mask lets it, zeros where it lets nothing."""
    some = mask.any(-1, keepdim=True)
    return F.scaled_dot_product_attention(query, key, value, mask | ~some) * some


class MaskedMultiHeadAttention(nn.Module):
    """Self-attention with several heads and a mask."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        """Make the layers."""
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by num_heads {num_heads}")
        self.count = num_heads
        for role in ("to_queries", "to_keys", "to_values"):
            self.add_module(role, nn.Linear(embed_dim, embed_dim, bias=False))
        self.add_module("unify_heads", nn.Linear(embed_dim, embed_dim))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the attended x (b, t, k)."""
        *projections, unify = self.children()
        heads = (layer(x).unflatten(-1, (self.count, -1)).transpose(1, 2) for layer in projections)
        seen = x.new_ones(x.size(1), x.size(1), dtype=torch.bool) if mask is None else mask
        seen = seen.unsqueeze(1) if seen.dim() > 2 else seen
        return unify(masked_attention(*heads, seen).transpose(1, 2).flatten(2))
