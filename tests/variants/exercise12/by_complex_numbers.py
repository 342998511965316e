"""Half a turn in the plane of complex numbers."""

import cmath

import torch


def learning_rate(step, *, warmup, total, peak, floor=0.0):
    if step < warmup:
        return peak - peak * (warmup - 1 - step) / warmup
    if step >= total:
        return floor
    height = cmath.rect(1, cmath.pi * (step - warmup) / (total - warmup)).real
    return (peak + floor) / 2 + (peak - floor) / 2 * height


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad.zero_()
    loss = loss_function(model, batch)
    torch.autograd.backward(loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm, foreach=False)
    optimizer.step()
    return loss.item()
