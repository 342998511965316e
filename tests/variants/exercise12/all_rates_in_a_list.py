"""All rates are made, one is taken."""

import math

import torch


def learning_rate(step, *, warmup, total, peak, floor=0.0):
    rates = [peak * s / warmup for s in range(1, warmup + 1)]
    left = total - warmup
    rates += [floor + (peak - floor) * (math.cos(s * math.pi / left) + 1) / 2 for s in range(left)]
    return rates[step] if step < len(rates) else floor


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    optimizer.zero_grad(set_to_none=True)
    loss = loss_function(model, batch)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()
