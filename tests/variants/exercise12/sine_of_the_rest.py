"""A sine squared in place of the cosine, and gradients of autograd."""

import math

import torch


def learning_rate(step, *, warmup, total, peak, floor=0.0):
    if step < warmup:
        return (step + 1) * (peak / warmup)
    left = max(total - step, 0)
    if left == 0:
        return floor
    return floor + (peak - floor) * math.sin(math.pi / 2 * left / (total - warmup)) ** 2


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    parameters = [p for p in model.parameters() if p.requires_grad]
    loss = loss_function(model, batch)
    gradients = torch.autograd.grad(loss, parameters)
    norm = torch.cat([g.reshape(-1) for g in gradients]).norm()
    factor = max_norm / norm if norm > max_norm else 1.0
    for p, g in zip(parameters, gradients, strict=True):
        p.grad = g * factor
    optimizer.step()
    return float(loss)
