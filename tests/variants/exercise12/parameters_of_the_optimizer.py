"""The norm by hand, over what the optimizer moves."""

import math

import torch


def learning_rate(step, *, warmup, total, peak, floor=0.0):
    if step in range(warmup):
        return torch.linspace(0, peak, warmup + 1, dtype=torch.float64)[step + 1].item()
    if step not in range(total):
        return floor
    angles = torch.linspace(0, torch.pi, total - warmup + 1, dtype=torch.float64)
    return (floor + (peak - floor) * (1 + angles.cos()) / 2)[step - warmup].item()


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for p in parameters:
        p.grad = None
    loss = loss_function(model, batch)
    loss.backward()
    norm = math.sqrt(sum(float(p.grad.pow(2).sum()) for p in parameters))
    if norm > max_norm:
        for p in parameters:
            p.grad.mul_(max_norm / norm)
    optimizer.step()
    return loss.tolist()
