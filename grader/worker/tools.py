"""What a step of training is given beside a model: an optimizer, and a loss."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class Momentum:
    """Gradient descent with momentum, as in torch.optim.SGD (Sutskever et al. 2013).

    torch.optim imports its compiler on the first step, a second that no check needs. The parameters
    of one that is `used` have gradients from before, which a step of training has to forget.
    """

    def __init__(self, parameters: list[nn.Parameter], *, used: bool) -> None:
        for p in parameters if used else ():
            p.grad = torch.ones_like(p)
        self.param_groups: list[dict[str, Any]] = [
            {"params": parameters, "lr": 0.1, "momentum": 0.9}
        ]
        self.state: dict[Tensor, Tensor] = {}

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters."""
        for p in self.param_groups[0]["params"]:
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad = torch.zeros_like(p.grad)

    def step(self, closure: Callable[[], Tensor] | None = None) -> Tensor | None:
        """Move every parameter that has a gradient; return the loss that a closure makes first."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        (group,) = self.param_groups
        with torch.no_grad():
            for p in group["params"]:
                if p.grad is not None:
                    past = self.state.get(p, torch.zeros_like(p))
                    self.state[p] = past * group["momentum"] + p.grad
                    p.sub_(self.state[p] * group["lr"])
        return loss


def squared_error(model: nn.Module, batch: Tensor) -> Tensor:
    """Return how far a model's output is from its input: squares, summed up for each sample.

    They count ten thousand times: beside a long gradient it is nothing that torch's clipping adds
    1e-6 to its norm, and clipping by hand does not.
    """
    squares: Tensor = 1e4 * (model(batch) - batch).square()
    return squares.flatten(1).sum(1).mean()


def build_tool(model: nn.Module | None, *, used: bool) -> Any:
    """Return an optimizer of a model, or the loss where there is none."""
    return squared_error if model is None else Momentum(list(model.parameters()), used=used)
