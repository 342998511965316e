"""Makes calls of a small module, so that every child is forked from a process that has made some.

What torch and Python prepare on first use, each child would otherwise prepare anew.
"""

import torch
from safetensors.numpy import save
from torch import Tensor, nn

from grader.worker.calls import Runner
from grader.worker.protocol import Action, Role, RoleKind, TargetKind, TensorKey, Value, WorkerCall
from grader.worker.torch_modules import TorchModules

_TIMES = 8  # Python adapts a function to its arguments after so many calls
_SIZE = 4
_ACTIONS = (Action.FORWARD, Action.GRADIENT, Action.DEVICE, Action.TRAIN)
_SHAPES = {"x": (2, 3, _SIZE), "linear.weight": (_SIZE, _SIZE), "linear.bias": (_SIZE,)}


class _Sample(nn.Module):
    """A bit of what modules are made of."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, size)
        self.table = nn.Parameter(torch.ones(size))
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.relu(self.linear(x)) * self.table
        products = hidden @ hidden.transpose(-2, -1) / x.size(-1) ** 0.5
        shares = torch.exp(products) / torch.exp(products).sum(-1, keepdim=True)
        joined = torch.cat([torch.tanh(shares @ hidden), hidden], dim=-1)
        output: Tensor = self.dropout(joined - joined.mean(-1, keepdim=True))
        return output


def rehearse() -> None:
    """Make calls of each usual kind several times; torch's settings are as before."""
    dtype = torch.get_default_dtype()
    tensors = {name: torch.ones(shape, dtype=torch.float64) for name, shape in _SHAPES.items()}
    tensors["cotangent"] = torch.ones(2, 3, 2 * _SIZE, dtype=torch.float64)
    calls = [_call(action) for action in _ACTIONS]
    for _ in range(_TIMES):
        runner = Runner({"Sample": _Sample}, tensors, torch.float64, 1 << 20, TorchModules())
        runner.announce(calls, [])
        for call in calls:
            save({name: value.numpy() for name, value in runner.make(call).tensors.items()})
    torch.set_default_dtype(dtype)


def _call(action: Action) -> WorkerCall:
    kinds = {"linear.weight": RoleKind.LINEAR, "linear.bias": RoleKind.BIAS}
    roles = [Role(name, _SHAPES[name], kind) for name, kind in kinds.items()]
    return WorkerCall(
        id="",
        target="Sample",
        kind=TargetKind.MODULE,
        action=action,
        construct=[Value(_SIZE)],
        options={},
        inputs=[TensorKey("x")],
        outputs=["output"],
        roles=roles,
        parameters={role.name: role.name for role in roles},
        cotangents=["cotangent"],
        repeats=2,
    )
