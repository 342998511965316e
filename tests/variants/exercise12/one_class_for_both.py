"""A schedule as an object, a step with a helper."""

import math

import torch


class _Plan:
    def __init__(self, warmup, total, peak, floor):
        self.warmup, self.total, self.peak, self.floor = warmup, total, peak, floor

    def __call__(self, step):
        if step >= max(self.total, self.warmup):
            return self.floor
        if step < self.warmup:
            return self.peak * (1 + step) / self.warmup
        turn = math.pi * (step - self.warmup) / (self.total - self.warmup)
        return self.floor + (self.peak - self.floor) * math.cos(turn / 2) ** 2


def learning_rate(step, *, warmup, total, peak, floor=0.0):
    return _Plan(warmup, total, peak, floor)(step)


def _shorten(parameters, limit):
    squares = [p.grad.square().sum() for p in parameters if p.grad is not None]
    norm = torch.stack(squares).sum().sqrt()
    if norm > limit:
        for p in parameters:
            if p.grad is not None:
                p.grad = p.grad / norm * limit


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    def closure():
        optimizer.zero_grad()
        loss = loss_function(model, batch)
        loss.backward()
        _shorten(list(model.parameters()), max_norm)
        return loss

    return optimizer.step(closure).item()


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
