"""Clipping with a given total norm."""

import math

import torch


def learning_rate(step, *, warmup, total, peak, floor=0.0):
    rise = lambda s: peak * (s + 1) / warmup  # noqa: E731
    fall = lambda s: floor + (peak - floor) / 2 * (1 + math.cos(math.pi * (s - warmup) / (total - warmup)))  # noqa: E501, E731
    return rise(step) if step < warmup else fall(step) if step < total else floor


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    optimizer.zero_grad()
    with torch.enable_grad():
        loss = loss_function(model, batch)
    loss.backward()
    total = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
    torch.nn.utils.clip_grads_with_norm_(model.parameters(), max_norm, total)
    optimizer.step()
    return loss.detach().cpu().numpy().item()
