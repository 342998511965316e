"""The share is clamped, and the cosine is of a tensor."""

import math

import torch


def learning_rate(step, *, warmup, total, peak, floor=0.0):
    if warmup > 0 and step + 1 <= warmup:
        return peak / warmup * (step + 1)
    if total <= warmup:
        return floor
    share = torch.tensor((step - warmup) / (total - warmup), dtype=torch.float64).clamp(0, 1)
    return float(torch.lerp(torch.tensor(floor, dtype=torch.float64),
                            torch.tensor(peak, dtype=torch.float64), (1 + (share * torch.pi).cos()) / 2))


def training_step(model, optimizer, loss_function, batch, *, max_norm=1.0):
    optimizer.zero_grad(set_to_none=False)
    loss = loss_function(model, batch)
    loss.backward()
    with torch.no_grad():
        flat = torch.nn.utils.parameters_to_vector([p.grad for p in model.parameters()])
        scale = torch.clamp(max_norm / flat.norm(), max=1.0)
        for p in model.parameters():
            p.grad *= scale
    optimizer.step()
    return loss.item()
