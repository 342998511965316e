"""The schedule by numpy."""

import numpy as np
import torch


def learning_rate(step, *, warmup, total, peak, floor=0.0):
    if step < warmup:
        return float(np.interp(step + 1, [0, warmup], [0.0, peak]))
    if step >= total:
        return float(floor)
    return float(floor + (peak - floor) * (1 + np.cos(np.pi * (step - warmup) / (total - warmup))) / 2)


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    optimizer.zero_grad(set_to_none=True)
    loss = loss_function(model, batch)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()
