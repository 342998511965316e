"""A running average."""

import torch
from torch import nn


class ExponentialMovingAverage(nn.Module):
    def __init__(self, width, *, from_zero=False):
        super().__init__()
        if width < 1:
            raise ValueError("width must be positive")
        self.decay_logit = nn.Parameter(torch.zeros(width))
        self.from_zero = from_zero

    def forward(self, x):
        keep = torch.sigmoid(self.decay_logit)
        average = torch.zeros_like(x[0]) if self.from_zero else x[0]
        averages = []
        for row in x:
            average = keep * average + (1 - keep) * row
            averages.append(average)
        return torch.stack(averages)
