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
