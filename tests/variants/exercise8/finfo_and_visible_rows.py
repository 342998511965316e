"""The smallest number of the dtype in place of minus infinity, and empty rows taken away."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def causal_mask(seq_len: int, *, device=None) -> Tensor:
    hidden = torch.ones((seq_len, seq_len), dtype=torch.bool, device=device).triu(diagonal=1)
    return hidden.logical_not()


def padding_mask(lengths: Tensor, max_len: int) -> Tensor:
    longest = int(lengths.max()) if lengths.numel() else 0
    if longest > max_len:
        raise ValueError(f"{longest} > {max_len}")
    mask = torch.zeros(len(lengths), max_len, dtype=torch.bool, device=lengths.device)
    for row, length in zip(mask, lengths):
        row[: int(length)] = True
    return mask


def masked_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    scores = query.bmm(key.mT) * query.size(-1) ** -0.5
    scores = scores.masked_fill(mask.logical_not(), torch.finfo(scores.dtype).min)
    attended = F.softmax(scores, -1).bmm(value)
    return attended * mask.any(-1, keepdim=True)


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads")
        self.heads = num_heads
        self.w_q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.w_k = nn.Linear(embed_dim, embed_dim, bias=False)
        self.w_v = nn.Linear(embed_dim, embed_dim, bias=False)
        self.w_o = nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        b, t, _ = x.shape
        if mask is None:
            mask = x.new_ones(t, t, dtype=torch.bool)
        mask = torch.broadcast_to(mask, (b, t, t))
        heads = []
        for q, k, v in zip(
            self.w_q(x).tensor_split(self.heads, -1),
            self.w_k(x).tensor_split(self.heads, -1),
            self.w_v(x).tensor_split(self.heads, -1),
        ):
            heads.append(masked_attention(q, k, v, mask))
        return self.w_o(torch.cat(heads, dim=-1))
