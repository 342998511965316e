"""Cross-attention as a child of exercise 8's module, a norm with its own backward pass."""

import torch
from exercise3_multi_head import fold_heads, unfold_heads
from exercise8_masks import MaskedMultiHeadAttention, causal_mask, masked_attention
from torch import nn


class Standardize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, eps):
        centred = x - x.mean(-1, keepdim=True)
        inverse = (centred.pow(2).mean(-1, keepdim=True) + eps).rsqrt()
        made = centred * inverse
        ctx.save_for_backward(made, inverse)
        return made

    @staticmethod
    def backward(ctx, grad):
        made, inverse = ctx.saved_tensors
        mean = grad.mean(-1, keepdim=True)
        along = (grad * made).mean(-1, keepdim=True)
        return inverse * (grad - mean - made * along), None


class LayerNorm(nn.Module):
    def __init__(self, embed_dim, eps=1e-5):
        super().__init__()
        self.embed_dim, self.eps = embed_dim, eps
        self.weight = nn.Parameter(torch.empty(embed_dim))
        self.bias = nn.Parameter(torch.empty(embed_dim))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.ones_(self.weight)
        nn.init.zeros_(self.bias)

    def forward(self, x):
        return Standardize.apply(x, self.eps) * self.weight + self.bias

    def extra_repr(self):
        return f"{self.embed_dim}, eps={self.eps}"


class CrossAttention(MaskedMultiHeadAttention):
    def __init__(self, embed_dim, num_heads):
        super().__init__(embed_dim, num_heads)
        self.heads = num_heads

    def forward(self, x, memory, memory_mask=None):
        if memory_mask is None:
            memory_mask = torch.ones_like(memory[..., 0], dtype=torch.bool)
        q = fold_heads(self.to_queries(x), self.heads)
        k = fold_heads(self.to_keys(memory), self.heads)
        v = fold_heads(self.to_values(memory), self.heads)
        mask = torch.stack([memory_mask] * self.heads, dim=1).flatten(0, 1).unsqueeze(1)
        return self.unify_heads(unfold_heads(masked_attention(q, k, v, mask), self.heads))


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, embed_dim, *, dropout=0.0):
        super().__init__()
        self.self_attention, self.norm1 = self_attention, LayerNorm(embed_dim)
        self.cross_attention, self.norm2 = cross_attention, LayerNorm(embed_dim)
        self.feed_forward, self.norm3 = feed_forward, LayerNorm(embed_dim)
        self.dropout = nn.Dropout(p=dropout)

    def _self_block(self, x):
        return self.dropout(self.self_attention(x, causal_mask(x.size(-2), device=x.device)))

    def _cross_block(self, x, memory, memory_mask):
        if memory_mask is None:
            return self.dropout(self.cross_attention(x, memory))
        return self.dropout(self.cross_attention(x, memory, memory_mask))

    def forward(self, x, memory, memory_mask=None):
        x = x + self._self_block(self.norm1(x))
        x = x + self._cross_block(self.norm2(x), memory, memory_mask)
        return x + self.dropout(self.feed_forward(self.norm3(x)))
