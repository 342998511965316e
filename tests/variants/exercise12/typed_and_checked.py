"""Typed, with checks of its own."""

import math

import torch


def learning_rate(
    step: int, *, warmup: int, total: int, peak: float, floor: float = 0.0
) -> float:
    if step < 0:
        raise ValueError("steps are counted from 0")
    if step < warmup:
        return peak * ((step + 1) / warmup)
    decay_steps = max(total - warmup, 1)
    decay_ratio = min((step - warmup) / decay_steps, 1.0) if step < total else 1.0
    coefficient = 0.5 * (1.0 + math.cos(math.pi * decay_ratio))
    return floor + coefficient * (peak - floor)


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    optimizer.zero_grad()
    loss = loss_function(model, batch)
    if not torch.isfinite(loss):
        raise FloatingPointError("the loss is not finite")
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(
        [p for p in model.parameters() if p.grad is not None], max_norm, error_if_nonfinite=True
    )
    assert norm >= 0
    optimizer.step()
    return loss.item()
