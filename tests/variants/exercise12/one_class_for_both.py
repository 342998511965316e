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
    optimizer.zero_grad()
    loss = loss_function(model, batch)
    before = loss.item()
    loss.backward()
    _shorten(list(model.parameters()), max_norm)
    optimizer.step()
    return before
