"""The geometry of a curve: how a loss falls with the steps of a training."""

from dataclasses import dataclass

from grader.grading.learnt import Learnt

_WIDE, _HIGH = 560, 160  # of the curve, in pixels as all lengths here
_LEFT, _TOP, _BELOW = 44, 12, 24  # for the numbers beside, above and below
_LINES = 4  # across the curve


@dataclass(frozen=True)
class Curve:
    """A line in a frame, with numbers beside and below."""

    label: str  # for who cannot see it
    width: int
    height: int
    left: int
    right: int
    points: str  # as an SVG has them
    beside: tuple[tuple[float, str], ...]  # how far down, and the number there
    below: tuple[tuple[float, str], ...]  # how far to the right


def curve(learnt: Learnt) -> Curve:
    """Return the loss by the steps, in bits, from zero up."""
    losses = learnt.losses
    top = max(losses) or 1.0
    across = [_LEFT + _WIDE * (n + 0.5) / len(losses) for n in range(len(losses))]
    down = [_TOP + _HIGH * (1 - loss / top) for loss in losses]
    return Curve(
        f"the loss over {learnt.steps} steps, from {losses[0]:.2f} to {losses[-1]:.2f} bits",
        _LEFT + _WIDE + _LEFT,
        _TOP + _HIGH + _BELOW,
        _LEFT,
        _LEFT + _WIDE,
        " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True)),
        tuple(
            (_TOP + _HIGH * n / _LINES, f"{top * (1 - n / _LINES):.1f}") for n in range(_LINES + 1)
        ),
        tuple((_LEFT + _WIDE * n / 2, f"{learnt.steps * n // 2}") for n in range(3)),
    )
