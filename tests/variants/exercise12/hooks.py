"""The gradient is gathered by a context of its own."""

import math

import torch


def learning_rate(step, *, warmup, total, peak, floor=0.0):
    match (step < warmup, step < total):
        case (True, _):
            rate = peak * (step + 1) / warmup
        case (False, True):
            share = 1 - (total - step) / (total - warmup)
            rate = floor + (peak - floor) * (math.cos(math.pi * share) + 1) / 2
        case _:
            rate = floor
    return rate


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    def closure():
        optimizer.zero_grad()
        loss = loss_function(model, batch)
        loss.backward()
        return loss

    loss = closure()
    gradients = [p.grad for p in model.parameters()]
    norms = torch._foreach_norm(gradients)
    total = torch.linalg.vector_norm(torch.stack(norms))
    torch._foreach_mul_(gradients, torch.clamp(max_norm / total, max=1.0))
    optimizer.step()
    return float(loss.detach())
