"""How probable draws are."""

import torch


def two_numbers(model, start, count):
    """Return the probabilities of two numbers that follow, (n, v, v)."""
    first = model(start)[:, -1].softmax(dim=-1)  # (n, v)
    second = [
        model(torch.cat([start, torch.full_like(start[:, :1], number)], dim=1))[:, -1]
        for number in range(first.size(1))
    ]
    return first[:, :, None] * torch.stack(second, dim=1).softmax(dim=-1)
