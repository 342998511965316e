"""What a factory in Keras puts together is known by its parts, in the order of their use."""

import json
import subprocess
import sys

import pytest

# in a process of its own: Keras is set up for good where it is imported
_SCRIPT = """
import json, sys, types
from dataclasses import replace
from functools import partial
from grader.worker import importing
from grader.worker.binding import Unbound
from grader.worker.frameworks import FrameworkName
from grader.worker.parts import Uses

framework = importing.load(FrameworkName.KERAS)
import keras, torch

class Mix(keras.layers.Layer):
    def build(self, shape):
        self.to_values = keras.layers.Dense(shape[-1], use_bias=False)
    def call(self, x):
        return self.to_values(x)

class Backwards(keras.layers.Layer):
    def __init__(self, layers):
        super().__init__()
        self.stacked = layers
    def call(self, x):
        for layer in reversed(self.stacked):
            x = layer(x)
        return x

Mix.__module__ = "exercise2_mix"
inputs = lambda: [torch.ones(2, 3)]
reference = keras.Sequential([Mix(), Mix()])
framework.build(reference, inputs)
places = framework.places(reference, {"exercise2"})
roles = [
    replace(framework.role(reference, item), part=at.part, number=at.number, inner=at.inner)
    for item in framework.items(reference, ())
    for at in [places[item.name]]
]
def bound(layer):
    framework.build(layer, inputs)
    uses = Uses()
    bonds, parts = framework.bind_parts(layer, roles, uses, partial(layer, *inputs()))
    return {
        "bonds": [[bond.item.name, bond.layout.form.name] for bond in bonds],
        "parts": len(parts),
        "rest": [item.name for item in framework.items(layer, parts)],
    }
told = {"places": [[r.part, r.number, r.inner, list(r.shape)] for r in roles]}
told["backwards"] = bound(Backwards([Mix(), Mix()]))
try:
    bound(Backwards([Mix()]))
except Unbound as unbound:
    told["too few"] = [one.name for one in unbound.info.present]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, object]:
    """Return what the script tells."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_places_are_those_of_parts(told: dict[str, object]) -> None:
    part, inner = "exercise2.Mix", "to_values.weight"
    assert told["places"] == [[part, 0, inner, [3, 3]], [part, 1, inner, [3, 3]]]


def test_parts_are_bound_in_the_order_of_use(told: dict[str, object]) -> None:
    assert told["backwards"] == {
        "bonds": [[f"stacked.{n}.to_values.kernel", "IN_OUT"] for n in (1, 0)],
        "parts": 2,
        "rest": [],
    }


def test_too_few_parts_are_not_bound(told: dict[str, object]) -> None:
    assert told["too few"] == ["stacked.0.to_values.kernel"]
