"""Imports a framework: `torch_modules` is what all rest on, others are subclasses of its class."""

from functools import cache

from grader.worker.frameworks import FrameworkName
from grader.worker.torch_modules import TorchModules


@cache
def load(name: FrameworkName) -> TorchModules:
    """Return a framework, imported, which takes seconds; raises ImportError where there is none."""
    if name is FrameworkName.KERAS:
        from grader.worker.keras_layers import KerasLayers

        return KerasLayers()
    return TorchModules()
