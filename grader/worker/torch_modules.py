"""What depends on the framework that a submission is written in; here it is torch by itself.

Another framework on torch is a subclass, and `importing.load` returns it. All that others of the
worker, and those that build keys, do with modules beside calling them stands here.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from grader.worker.attached import Loose, hidden_items, is_lazy, loose_things
from grader.worker.binding import Bond, own_items
from grader.worker.layouts import Item
from grader.worker.parts import Place, Uses, bind_parts, locate_parts
from grader.worker.protocol import Role, RoleKind

Inputs = Callable[[], list[Any]]  # makes the inputs of a case anew


class TorchModules:
    """Modules of torch's, as they are."""

    module = "an nn.Module"  # what a target that is a class should make, as learners call it

    def set_dtype(self, dtype: torch.dtype) -> None:
        """Let new tensors and parameters have this dtype."""
        torch.set_default_dtype(dtype)

    def seed(self, seed: int) -> None:
        """Let all that is drawn at random from now on depend on `seed`."""
        torch.default_generator.manual_seed(seed)  # torch.manual_seed asks every accelerator

    def given(self, probe: nn.Module) -> nn.Module:
        """Return a given module as a submission expects one."""
        return probe

    def build(self, module: nn.Module, inputs: Inputs) -> None:
        """Let a module make the parameters whose sizes its first input tells."""
        if is_lazy(module):
            with torch.no_grad():
                module(*inputs())

    def modules(self, module: nn.Module) -> list[nn.Module]:
        """Return a module and all that it is made of."""
        return list(module.modules())

    def items(self, module: nn.Module, given: Sequence[nn.Module]) -> list[Item]:
        """Return a module's own parameters, in order of registration."""
        return own_items(module, given)

    def parameters(self, module: nn.Module) -> Mapping[str, nn.Parameter]:
        """Return all parameters that training changes, by name, those of given modules too."""
        return dict(module.named_parameters())

    def loose(self, module: nn.Module) -> list[Loose]:
        """Return what hangs on a module where the framework does not see it."""
        return loose_things(module)

    def hidden(self, module: nn.Module, given: Sequence[nn.Module]) -> list[Item]:
        """Return the module's own parameters where the framework does not see them."""
        return hidden_items(self.loose(module), partial(self.items, given=given))

    def role(self, module: nn.Module, item: Item) -> Role:
        """Return the role that a parameter of the reference plays."""
        path, _, last = item.name.rpartition(".")
        return Role(item.name, item.shape, _kind(module.get_submodule(path), last))

    def places(self, module: nn.Module, exercises: Collection[str]) -> Mapping[str, Place]:
        """Return in which parts, of earlier exercises' classes, the parameters of a module lie."""
        return locate_parts(module, exercises)

    def bind_parts(
        self, module: nn.Module, roles: Sequence[Role], uses: Uses, run: Callable[[], Any]
    ) -> tuple[list[Bond], list[nn.Module]]:
        """Return the bonds of the roles that parts play, and the parts; raises Unbound.

        `run` makes one call of the module, in which `uses` notes what is used when.
        """
        return bind_parts(module, roles, partial(uses.note, run))

    def evaluating(self, module: nn.Module) -> Callable[..., Any]:
        """Set a module to evaluation, and return what calls it so."""
        return module.eval()

    def training(self, module: nn.Module) -> Callable[..., Any]:
        """Set a module to training, and return what calls it so."""
        return module.train()


def _kind(owner: nn.Module, last: str) -> RoleKind:
    if isinstance(owner, nn.Embedding):
        return RoleKind.TABLE
    if isinstance(owner, nn.Linear):
        return RoleKind.LINEAR if last == "weight" else RoleKind.BIAS
    parameter: Tensor = getattr(owner, last)
    return RoleKind.LINEAR if parameter.dim() == 2 else RoleKind.VECTOR
