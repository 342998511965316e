"""The optimizer with which a submission's module is trained."""

import torch
from torch import nn


class Adam:
    """Adam by its paper (Kingma and Ba, 2015, algorithm 1).

    torch.optim imports its compiler on the first step, a second that no check needs.
    """

    def __init__(self, parameters: list[nn.Parameter], rate: float) -> None:
        self.parameters = [p for p in parameters if p.requires_grad]
        self.rate = rate
        self.count = 0
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters]

    def step(self) -> None:
        """Move every parameter that has a gradient, and forget the gradients."""
        self.count += 1
        with torch.no_grad():
            for p, m, v in zip(self.parameters, self.first, self.second, strict=True):
                if p.grad is not None:
                    m.lerp_(p.grad, 0.1)
                    v.lerp_(p.grad**2, 0.001)
                    root = (v / (1 - 0.999**self.count)).sqrt() + 1e-8
                    p.sub_(self.rate * (m / (1 - 0.9**self.count)) / root)
                    p.grad = None
