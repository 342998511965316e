"""The course's loop of training: a submission's module learns from samples, and is then asked."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from grader.worker.adam import Adam
from grader.worker.protocol import Learning

_WARM_UP = 0.05  # share of the steps in which the learning rate rises
_LONGEST = 1.0  # norm to which a gradient is shortened
_TOGETHER = 100  # new inputs that are looked at together
_WRITTEN = 100  # tokens a stage


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


def _share(done: float) -> float:
    """Return the share of the highest learning rate: a rise, then half a cosine down."""
    if done < _WARM_UP:
        return done / _WARM_UP
    return (1 + math.cos(math.pi * (done - _WARM_UP) / (1 - _WARM_UP))) / 2
