"""Makes calls of targets, one after the other, each as if it were the first."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.worker.actions import ACTIONS, Workbench
from grader.worker.claims import CallClaim
from grader.worker.forbidden import Watch, noting_threads, resolve
from grader.worker.protocol import WorkerCall
from grader.worker.targets import Recipes, Targets
from grader.worker.torch_modules import TorchModules

SEED = 20170612  # any fixed number: a call draws the same masks on every run


class Runner:
    """Makes calls of the targets in a namespace."""

    def __init__(
        self,
        namespace: Mapping[str, Any],
        tensors: dict[str, Tensor],
        dtype: torch.dtype,
        answer_bytes: int,
        framework: TorchModules,
        *,
        shared: Recipes | None = None,
        audits: bool = True,
        keeps: bool = False,
        labels: Collection[str] = (),
    ) -> None:
        """Take the tensors that calls name; see Targets and Workbench for the rest."""
        self.targets = Targets(namespace, tensors, framework, shared=shared)
        self.framework = framework
        self.dtype = dtype
        self.answer_bytes = answer_bytes
        self._bench = Workbench(self.targets, audits, keeps, labels)

    def announce(self, calls: Sequence[WorkerCall], forbidden: Sequence[str]) -> None:
        """Tell the calls to come, from which parameter layouts are learnt, and forbidden names."""
        for call in calls:
            if call.roles:
                self.targets.announced.setdefault(call.target, []).append(call)
        found = {name: resolve(name) for name in forbidden}
        self._bench.forbidden = {name: one for name, one in found.items() if one is not None}

    def make(self, call: WorkerCall) -> CallClaim:
        """Make one call; lets every exception of the submission through."""
        torch.set_grad_enabled(True)
        self.framework.set_dtype(self.dtype)
        self.framework.seed(SEED + call.seed)
        claim = CallClaim(self.answer_bytes)
        if call.watch and self._bench.forbidden:
            with Watch(self._bench.forbidden) as watch, noting_threads(watch.seen):
                ACTIONS[call.action](self._bench, call, claim)
            claim.info.forbidden = sorted(watch.seen)
        else:
            ACTIONS[call.action](self._bench, call, claim)
        if call.watch:
            claim.info.defaults = self.targets.defaults(call)
        return claim
