"""The usual training loop of public repositories."""

import math

import torch


def learning_rate(step, *, warmup, total, peak, floor=0.0):
    if step < warmup:
        return peak * (step + 1) / warmup
    if step >= total:
        return floor
    progress = (step - warmup) / (total - warmup)
    return floor + 0.5 * (peak - floor) * (1.0 + math.cos(math.pi * progress))


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    optimizer.zero_grad(set_to_none=True)
    loss = loss_function(model, batch)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


class _Digits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(8, 64)
        self.attention = torch.nn.MultiheadAttention(64, 4, batch_first=True)
        self.down = torch.nn.Sequential(
            torch.nn.Linear(8 * 64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)
        )

    def forward(self, images):
        x = self.up(images)
        attended, _ = self.attention(x, x, x)
        return self.down((x + attended).flatten(1))


class _Writer(torch.nn.Module):
    def __init__(self, v):
        super().__init__()
        self.table = torch.nn.Embedding(v, 96)
        self.place = torch.nn.Parameter(0.02 * torch.randn(48, 96))
        self.attentions = torch.nn.ModuleList(
            torch.nn.MultiheadAttention(96, 6, batch_first=True) for _ in range(2)
        )
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(96) for _ in range(4))
        self.feeds = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(96, 192), torch.nn.ReLU(), torch.nn.Linear(192, 96))
            for _ in range(2)
        )
        self.out = torch.nn.Linear(96, v)

    def forward(self, tokens):
        t = tokens.shape[1]
        hidden = torch.ones(t, t, dtype=torch.bool).triu(1)
        x = 0.1 * self.table(tokens) + self.place[:t]
        for i, attention in enumerate(self.attentions):
            y = self.norms[2 * i](x)
            x = x + attention(y, y, y, attn_mask=hidden, need_weights=False)[0]
            x = x + self.feeds[i](self.norms[2 * i + 1](x))
        return self.out(x)


def build_digit_classifier():
    return _Digits()


def build_text_model(vocab_size):
    return _Writer(vocab_size)
