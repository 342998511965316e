"""The names of a small GPT: wte, wpe, h, ln_f; the embedding gets the last layer's weight, which is registered last."""
import torch
from torch import nn
from torch.nn import functional as F
from exercise4_feed_forward import FeedForward
from exercise8_masks import MaskedMultiHeadAttention as CausalSelfAttention
from exercise8_masks import causal_mask


def next_token_loss(logits, tokens, lengths=None):
    b, t, v = logits.size()
    if lengths is None:
        lengths = torch.full((b,), t, dtype=torch.long, device=logits.device)
    total, count = 0, 0
    for row, seq, n in zip(logits, tokens, lengths.tolist()):
        if n > 1:
            total = total + F.cross_entropy(row[: n - 1], seq[1:n], reduction="sum")
            count += n - 1
    if count == 0:
        raise ValueError("no targets")
    return total / count


class LanguageModel(nn.Module):
    def __init__(self, decoder, vocab_size, embed_dim, max_len):
        super().__init__()
        self.block_size = max_len
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(vocab_size, embed_dim),
                wpe=nn.Embedding(max_len, embed_dim),
                h=decoder,
                ln_f=nn.LayerNorm(embed_dim),
            )
        )
        self.lm_head = nn.Linear(embed_dim, vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, nn.Linear | nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx):
        b, t = idx.size()
        if t > self.block_size:
            raise ValueError(f"Cannot forward sequence of length {t}, block size is only {self.block_size}")
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device)
        tok_emb = self.transformer.wte(idx)
        pos_emb = self.transformer.wpe(pos)
        x = self.transformer.h(tok_emb + pos_emb)
        return self.lm_head(self.transformer.ln_f(x))


class Block(nn.Module):
    def __init__(self, n_embd, n_head, dropout):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head)
        self.resid_dropout = nn.Dropout(dropout)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = FeedForward(n_embd, dropout=dropout)

    def forward(self, x):
        x = x + self.resid_dropout(self.attn(self.ln_1(x), causal_mask(x.shape[1], device=x.device)))
        return x + self.resid_dropout(self.mlp(self.ln_2(x)))


class Blocks(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, *, dropout=0.0):
    blocks = Blocks(Block(embed_dim, num_heads, dropout) for _ in range(depth))
    return LanguageModel(blocks, vocab_size, embed_dim, max_len)
