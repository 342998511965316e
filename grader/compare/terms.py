"""What is said of exceptions in the terms of a course's framework; the rest is said of all.

A name of TensorFlow's in a course on Keras is told what to write: `tf.keras` is Keras, and for most
functions there is one in `keras.ops`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from grader.compare.scene import Reason, Scene
from grader.handin.read import Source
from grader.worker.frameworks import FrameworkName

Rule = tuple[re.Pattern[str], Callable[[re.Match[str], Scene], Reason | None]]
_SHOWN = 8  # names that are told at once
_NAMES = re.compile(r"\b(?:tf|tensorflow)\.([A-Za-z_][\w.]{0,60})")


@dataclass(frozen=True)
class Terms:
    """What only one framework says."""

    imports: str  # what a submission may import, for an import that fails
    rules: tuple[Rule, ...] = ()  # by what an exception says, before those of all
    stranger: str = ""  # another library, which cannot be imported
    twins: Mapping[str, str] = field(default_factory=dict)  # its names, and what to write

    def in_place_of(self, module: str, source: Source) -> str:
        """Say what to write in place of another library, "" for a module that is none."""
        if not self.stranger or module.partition(".")[0] != self.stranger:
            return ""
        used = [name for _, text in source.units for name in _NAMES.findall(text)]
        told = dict.fromkeys(filter(None, map(self._twin, used)))
        listed = "; ".join(list(told)[:_SHOWN])
        begin = "write `import keras` and `from keras import ops`, which need no TensorFlow"
        return f"{begin}: {listed}" if listed else begin

    def _twin(self, name: str) -> str:
        parts = name.split(".")
        for end in range(len(parts), 0, -1):
            own = ".".join(parts[:end])
            if own in self.twins:
                return f"`{self.twins[own]}` for tf.{own}"
        return ""


def terms_of(framework: FrameworkName) -> Terms:
    """Return the terms of a framework."""
    return _TERMS[framework]


def _stranger(found: re.Match[str], scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    return Reason(_KERAS.in_place_of(_KERAS.stranger, scene.evidence.source))


def _bracket(found: re.Match[str], scene: Scene) -> Reason | None:
    name = found[1]
    if f"{name}[" not in scene.code.replace(" ", ""):
        return None
    return Reason(
        f"`{name}[...]` looks up a place in something called `{name}`: an argument is given with "
        f"an equals sign, `{name}=[...]`"
    )


def _missing(found: re.Match[str], scene: Scene) -> Reason | None:  # noqa: ARG001 - as all rules
    twin = _KERAS.twins.get(found[1])
    return Reason(f"there is no ops.{found[1]}: write `{twin}`") if twin else None


def _said(text: str) -> Callable[[re.Match[str], Scene], Reason]:
    return lambda *_: Reason(text)


_RULES = (
    (r"^name 'tf' is not defined", _stranger),
    (r"^name '(\w+)' is not defined", _bracket),
    (r"module 'keras\.ops' has no attribute '(\w+)'", _missing),
    (r"module 'keras\.ops\.(\w+)' has no attribute '\w+'", _said(
        "functions stand in keras.ops itself: ops.matmul, ops.softmax")),
    (r"transpose\(\) got an unexpected keyword argument 'perm'", _said(
        "ops.transpose calls it `axes`: write axes=[...] for perm=[...]")),
    (r"matmul\(\) got an unexpected keyword argument 'transpose_[ab]'", _said(
        "ops.matmul does not transpose: give it ops.swapaxes(x, -1, -2), whose last two axes "
        "have changed places")),
    (r"'(?:Tracked)?List' object is not callable|'list' object is not callable", _said(
        "a list cannot be called: keras.Sequential(layers) can, which calls them in turn")),
    (r"a NoneType, not a layer of Keras", _said("check that every path ends in a return")),
    (r"a type, not a layer of Keras", _said("return an instance of the layer, not its class")),
    (r"cannot add new elements of state", _said(
        "make layers and weights in __init__ or in build: in call they would be new")),
    (r"cannot assign module before Module|forgot to call `super\(\)\.__init__\(\)`", _said(
        "call super().__init__() first in __init__")),
)  # fmt: skip
_KERAS = Terms(
    imports="import only keras, torch, the standard library and earlier exercises",
    stranger="tensorflow",
    rules=tuple((re.compile(pattern), rule) for pattern, rule in _RULES),
    twins={
        "keras": "keras", "shape": "ops.shape(x)", "reshape": "ops.reshape(x, [...])",
        "transpose": "ops.transpose(x, axes=[...])", "matmul": "ops.matmul(a, b)",
        "linalg.matmul": "ops.matmul(a, b)", "einsum": "ops.einsum(...)",
        "tensordot": "ops.tensordot(a, b, axes=...)", "nn.softmax": "ops.softmax(x, axis=...)",
        "math.softmax": "ops.softmax(x, axis=...)", "math": "ops", "linalg": "ops.linalg",
        "nn.log_softmax": "ops.log_softmax(x, axis=...)", "nn.relu": "ops.relu(x)",
        "nn.gelu": "ops.gelu(x)", "nn.dropout": "keras.layers.Dropout(rate)",
        "nn.bias_add": "x + bias", "nn.embedding_lookup": "keras.layers.Embedding",
        "nn": "ops", "cast": "ops.cast(x, dtype)", "sqrt": "ops.sqrt(x)", "exp": "ops.exp(x)",
        "math.sqrt": "ops.sqrt(x)", "math.exp": "ops.exp(x)", "math.log": "ops.log(x)",
        "math.sin": "ops.sin(x)", "math.cos": "ops.cos(x)", "sin": "ops.sin(x)",
        "cos": "ops.cos(x)", "concat": "ops.concatenate([...], axis=...)",
        "stack": "ops.stack([...], axis=...)", "split": "ops.split(x, n, axis=...)",
        "unstack": "ops.unstack(x, axis=...)", "squeeze": "ops.squeeze(x, axis=...)",
        "expand_dims": "ops.expand_dims(x, axis=...)", "tile": "ops.tile(x, [...])",
        "reduce_sum": "ops.sum(x, axis=...)", "reduce_mean": "ops.mean(x, axis=...)",
        "reduce_max": "ops.max(x, axis=...)", "math.reduce_mean": "ops.mean(x, axis=...)",
        "math.reduce_sum": "ops.sum(x, axis=...)", "range": "ops.arange(n)",
        "zeros": "ops.zeros(shape)", "ones": "ops.ones(shape)",
        "gather": "ops.take(x, i, axis=...)",
        "where": "ops.where(...)", "maximum": "ops.maximum(a, b)", "pow": "ops.power(a, b)",
        "math.pow": "ops.power(a, b)", "newaxis": "None", "Variable": "self.add_weight(shape=...)",
        "linalg.band_part": "ops.tril(x)", "stop_gradient": "ops.stop_gradient(x)",
        "constant": "ops.convert_to_tensor(x)", "convert_to_tensor": "ops.convert_to_tensor(x)",
        "random.normal": "keras.random.normal(shape)", "float32": '"float32"',
        "int32": '"int32"', "function": "nothing, Keras compiles by itself",
    },
)  # fmt: skip
_TERMS = {
    FrameworkName.TORCH: Terms(
        "import only torch, NumPy, einops, the standard library and earlier exercises",
    ),
    FrameworkName.KERAS: _KERAS,
}
