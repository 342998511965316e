"""Watches for functions of torch that an exercise forbids."""

import sys
from collections.abc import Mapping
from typing import Any

from torch.overrides import TorchFunctionMode

from grader.worker.loading import in_standin


class Watch(TorchFunctionMode):
    """Notes which forbidden functions of torch the submission calls; a stand-in may call them."""

    def __init__(self, forbidden: Mapping[str, Any]) -> None:
        super().__init__()
        self.names: dict[int, list[str]] = {}  # by the function's id
        for name, one in forbidden.items():
            self.names.setdefault(id(one), []).append(name)
        self.seen: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        names = self.names.get(id(func))
        if names and not in_standin(sys._getframe(1)):  # noqa: SLF001 - fastest
            self.seen.update(names)
        return func(*args, **(kwargs or {}))


def resolve(name: str) -> Any:
    """Find what a qualified name such as torch.nn.LayerNorm means, None where nothing."""
    parts = name.split(".")
    found: Any = sys.modules.get(parts[0])
    for part in parts[1:]:
        found = getattr(found, part, None)
    return found
