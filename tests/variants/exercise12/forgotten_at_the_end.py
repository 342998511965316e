"""Gradients are forgotten before and after."""

import math

from torch import nn


def learning_rate(step, *, warmup, total, peak, floor=0.0):
    if warmup > step:
        return float(peak) * float(step + 1) / float(warmup)
    progress = min(max((step - warmup) / max(1, total - warmup), 0.0), 1.0)
    cosine = 0.5 * (1.0 + math.cos(math.pi * progress))
    return cosine * peak + (1.0 - cosine) * floor


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    model.zero_grad()
    loss = loss_function(model, batch)
    value = loss.detach().item()
    loss.backward()
    nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=max_norm, norm_type=2)
    optimizer.step()
    optimizer.zero_grad()
    return value
