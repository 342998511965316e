"""Tables are parameters, read by indexing; the norm is written by hand; log-sum-exp for the loss."""
import torch
from torch import nn
import exercise4_feed_forward as ffn
import exercise8_masks as masks


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, unbiased=False, keepdim=True)
        return (x - mean) / torch.sqrt(var + 1e-5) * self.weight + self.bias


def next_token_loss(logits, tokens, lengths=None):
    b, t, _ = logits.shape
    inside = torch.arange(t, device=tokens.device)[None].expand(b, t)
    limit = t if lengths is None else lengths[:, None].to(inside.dtype)
    rows, columns = torch.nonzero((inside > 0) & (inside < limit), as_tuple=True)
    if rows.numel() == 0:
        raise ValueError("no next token anywhere")
    seen = logits[rows, columns - 1]
    hit = seen[torch.arange(len(seen), device=seen.device), tokens[rows, columns]]
    return (torch.logsumexp(seen, -1) - hit).mean()


class LanguageModel(nn.Module):
    def __init__(self, decoder, vocab_size, embed_dim, max_len):
        super().__init__()
        self.tokens = nn.Parameter(torch.randn(vocab_size, embed_dim) * 0.02)
        self.positions = nn.Parameter(torch.randn(max_len, embed_dim) * 0.02)
        self.decoder = decoder
        self.norm = Norm(embed_dim)

    def forward(self, tokens):
        if tokens.size(1) > self.positions.size(0):
            raise ValueError(f"{tokens.size(1)} > {self.positions.size(0)}")
        x = self.tokens[tokens] + self.positions[: tokens.size(1)]
        return torch.einsum("btk,vk->btv", self.norm(self.decoder(x)), self.tokens)


class Layer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.first = Norm(width)
        self.second = Norm(width)
        self.attention = masks.MaskedMultiHeadAttention(width, heads)
        self.network = ffn.FeedForward(width, dropout=dropout)
        self.dropout = dropout

    def forward(self, x):
        drop = lambda y: nn.functional.dropout(y, self.dropout, self.training)
        x = x + drop(self.attention(self.first(x), masks.causal_mask(x.size(1), device=x.device)))
        return x + drop(self.network(self.second(x)))


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, dropout=0.0):
    layers = nn.Sequential(*(Layer(embed_dim, num_heads, dropout) for _ in range(depth)))
    return LanguageModel(layers, vocab_size, embed_dim, max_len)
