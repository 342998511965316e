"""Given modules: small ones with parameters of a case, that reveal nothing of a solution.

A sublayer returns tanh(x own + other mixed) of x's shape (b, t, k); they differ in what `other` is.
A model returns the logits of the next token.
"""

import torch
from torch import Tensor, nn

from grader.worker.protocol import Probe

_APART = 50.0  # logits that are so far apart leave a chance of 1e-21


class _Given(nn.Module):
    """What all of them have."""

    def __init__(self, own: Tensor, mixed: Tensor) -> None:
        super().__init__()
        self.own = nn.Parameter(own)
        self.mixed = nn.Parameter(mixed)

    @property
    def matrices(self) -> Tensor:
        """The two matrices, as they are now."""
        return torch.stack([self.own.detach(), self.mixed.detach()])

    def _joined(self, x: Tensor, other: Tensor) -> Tensor:
        return torch.tanh(x @ self.own + other @ self.mixed)

    def _check(self, *sequences: Tensor) -> None:
        for x in sequences:
            if x.dim() != 3 or x.size(-1) != self.own.size(0):
                due = f"(batch, time, {self.own.size(0)})"
                raise ValueError(f"the given sublayer takes {due}, got {tuple(x.shape)}")


class GivenSublayer(_Given):
    """Sees one position at a time, its numbers in reverse order too; or the mean over time.

    With the mean it keeps the permutation of positions.
    """

    def __init__(self, own: Tensor, mixed: Tensor, *, mixing: bool) -> None:
        super().__init__(own, mixed)
        self.mixing = mixing

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of x's shape (b, t, k)."""
        self._check(x)
        other = x.mean(dim=1, keepdim=True).expand_as(x) if self.mixing else x.flip(-1)
        return self._joined(x, other)


class DroppingSublayer(_Given):
    """Sees one position at a time, and drops every other number in training mode.

    What it drops is no matter of chance, so that steps of training can be compared. Its
    matrices have gradients of different lengths, and so has a vector that is called a bias: what is
    not clipped as one shows. The vector scales, so that where x is short all gradients are.
    """

    def __init__(self, own: Tensor, mixed: Tensor) -> None:
        super().__init__(own, mixed)
        self.bias = nn.Parameter(torch.zeros_like(own[0]))

    def forward(self, x: Tensor) -> Tensor:
        """Return a tensor of x's shape (b, t, k)."""
        self._check(x)
        output = self._joined(x, x.flip(-1) / 2) * (1 + self.bias)
        if not self.training:
            return output
        kept = torch.arange(x.size(-1), device=x.device) % 2 == 0
        return output * kept * 2


class MaskedSublayer(_Given):
    """Blends in the mean over what a mask (t, t) or (b, t, t) shows each position."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return a tensor of x's shape (b, t, k); no mask shows everything."""
        self._check(x)
        seen = x.new_ones(x.size(1), x.size(1), dtype=torch.bool) if mask is None else mask
        return self._joined(x, _share(seen, x) @ x)


class CrossingSublayer(_Given):
    """Blends in the mean over another sequence (b, s, k), of which a mask (b, s) shows a part."""

    def forward(self, x: Tensor, memory: Tensor, memory_mask: Tensor | None = None) -> Tensor:
        """Return a tensor of x's shape (b, t, k); no mask shows everything."""
        self._check(x, memory)
        mask = memory_mask
        seen = memory.new_ones(memory.shape[:2], dtype=torch.bool) if mask is None else mask
        return self._joined(x, (_share(seen, x)[:, None] @ memory).expand_as(x))


class GivenModel(_Given):
    """Tells of each position in tokens (b, t) which token comes next, from all so far.

    Where a token stands counts, and no more than `max_len` are taken. One that is deciding leaves
    nothing to chance: the likeliest token is so by far, and exp() of its logit is a number still.
    In training mode it tells something else, as dropout would: a part of it does.
    """

    def __init__(self, own: Tensor, mixed: Tensor, max_len: int, *, deciding: bool) -> None:
        super().__init__(own, mixed)
        self.max_len = max_len
        self.deciding = deciding
        self.dropping = nn.Identity()

    def forward(self, tokens: Tensor) -> Tensor:
        """Return logits of shape (b, t, v)."""
        if tokens.dim() != 2 or not 0 < tokens.size(1) <= self.max_len:
            due = f"(batch, 1 to {self.max_len})"
            raise ValueError(f"the given model takes tokens {due}, got {tuple(tokens.shape)}")
        places = torch.arange(1, tokens.size(1) + 1, device=tokens.device, dtype=self.own.dtype)
        before = (self.mixed[tokens] * places.cos()[:, None]).cumsum(dim=1)
        own = self.own.flip(-1) if self.dropping.training else self.own
        logits = 3 * (own[tokens] + before / places.sqrt()[:, None])
        ranks = logits.argsort(dim=-1).argsort(dim=-1)
        return _APART * ranks.to(logits.dtype) if self.deciding else logits


def _share(mask: Tensor, like: Tensor) -> Tensor:
    """Return what each place counts for; a row that shows nothing counts for nothing."""
    if mask.dtype is not torch.bool:
        raise ValueError(f"the given sublayer takes a mask of true and false, got {mask.dtype}")
    shown = mask.to(like.dtype)
    return shown / shown.sum(dim=-1, keepdim=True).clamp(min=1)


def build_probe(probe: Probe, own: Tensor, mixed: Tensor) -> nn.Module:
    """Return the module with a case's values, in its mode."""
    return _build(probe, own, mixed).train(probe.training)


def _build(probe: Probe, own: Tensor, mixed: Tensor) -> nn.Module:
    match probe.probe:
        case "masked":
            return MaskedSublayer(own, mixed)
        case "dropping":
            return DroppingSublayer(own, mixed)
        case "crossing":
            return CrossingSublayer(own, mixed)
        case "predicting" | "deciding":
            return GivenModel(own, mixed, probe.max_len, deciding=probe.probe == "deciding")
        case _:
            return GivenSublayer(own, mixed, mixing=probe.probe == "mixing")
