"""The course's loop of training: a submission's module learns from samples, and is then asked."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from grader.worker.adam import Adam
from grader.worker.protocol import Learning
from grader.worker.record import Recorder

_WARM_UP = 0.05  # share of the steps in which the learning rate rises
_LONGEST = 1.0  # norm to which a gradient is shortened
_TOGETHER = 100  # new inputs that are looked at together
_WRITTEN = 100  # tokens a stage
_PLACES = 24  # of a sequence of tokens that is looked at
_MAPS, _SMALLEST = 16, 4  # at most so many weights, of at least so many places
_NEAR = 1e-3


def train(module: nn.Module, samples: Tensor, labels: Tensor, how: Learning) -> Iterator[Tensor]:
    """Train a module on samples, and yield the loss after each step.

    Shapes: samples (n, ...), labels (n,) or (n, t), whole numbers; the module returns logits
    (b, v) or (b, t, v). The loss is the mean cross-entropy.
    """
    module.train()
    adam = Adam(list(module.parameters()), how.learning_rate)
    for step in range(how.steps):
        adam.rate = how.learning_rate * _share(step / how.steps)
        chosen = torch.randint(len(samples), (how.batch,))
        logits = module(samples[chosen])
        loss = nn.functional.cross_entropy(logits.flatten(0, -2), labels[chosen].long().flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(module.parameters(), _LONGEST)
        adam.step()
        yield loss.detach()


def predict(module: nn.Module, inputs: Tensor) -> Tensor:
    """Return logits for new inputs, (b, v): of sequences, those of the last place."""
    module.eval()
    with torch.no_grad():
        logits = torch.cat([module(some) for some in inputs.split(_TOGETHER)])
    return logits[:, -1] if logits.dim() > 2 else logits


def write(module: nn.Module, begin: Tensor) -> Tensor:
    """Return what a model writes behind tokens (1, t): each token is drawn by its probability."""
    module.eval()
    text = begin
    with torch.no_grad():
        for _ in range(_WRITTEN):
            logits = module(text[:, -begin.size(1) :])[:, -1]
            text = torch.cat([text, torch.multinomial(logits.softmax(-1), 1)], 1)
    module.train()
    return text[0, begin.size(1) :]


def mixing_weights(module: nn.Module, inputs: Tensor) -> Tensor | None:
    """Return how a module mixes the places of its first input: weights (n, t, t).

    They are looked for among all that its run makes: squares of which every row sums to one.
    """
    module.eval()
    one = inputs[:1] if inputs.is_floating_point() else inputs[:1, :_PLACES]
    with torch.no_grad(), Recorder([]) as recorder:
        module(one)
    found: list[Tensor] = []
    for made in (made.value for made in recorder.made if _mixes(made.value)):
        for weights in made.flatten(0, -3):
            if all(weights.shape == other.shape and (weights != other).any() for other in found):
                found.append(weights)
    return torch.stack(found[:_MAPS]) if found else None


def _mixes(made: Tensor) -> bool:
    if made.dim() < 3 or made.size(-1) != made.size(-2) or made.size(-1) < _SMALLEST:
        return False
    return bool((made >= 0).all()) and bool(((made.sum(-1) - 1).abs() < _NEAR).all())


def _share(done: float) -> float:
    """Return the share of the highest learning rate: a rise, then half a cosine down."""
    if done < _WARM_UP:
        return done / _WARM_UP
    return (1 + math.cos(math.pi * (done - _WARM_UP) / (1 - _WARM_UP))) / 2
