"""What a framework calls things, where a report tells what to do: its names, and nothing else.

The sentences that differ stand here, once a framework. What is the same for all stands where it
is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.worker.frameworks import FrameworkName
from grader.worker.protocol import Role, RoleKind


@dataclass(frozen=True)
class Vocabulary:
    """The words of one framework; those of torch where nothing else is given."""

    noun: str = "module"  # what a class of the exercise makes
    method: str = "forward"  # of such a class, which computes
    others: tuple[str, ...] = ("call", "run", "apply")  # names that are given to it by mistake
    before: str = ""  # the method that runs before it, on the first input's shape
    training: str = "in training mode"
    # where things are kept so that the framework sees them, by kind
    homes: Mapping[str, str] = field(default_factory=lambda: {
        "module": "nn.ModuleList or nn.ModuleDict",
        "parameter": "nn.ParameterList or nn.ParameterDict",
    })  # fmt: skip
    keep: Mapping[str, str] = field(default_factory=lambda: {
        "tensor": "keep it by register_buffer, so that .to() and state_dict() see it",
        "module": "keep modules in nn.ModuleList or nn.ModuleDict, not in a list",
        "parameter": "keep it as an attribute of its own, an nn.Parameter",
    })  # fmt: skip
    unseen: str = "in a plain list or dict, where torch does not see them"
    weight: str = "nn.Parameter"  # what is trained
    fixed: str = "keep what is fixed as a buffer, with self.register_buffer"
    # next steps
    uncut: str = (
        "look for .detach(), .data, no_grad, requires_grad=False or an operation that no gradient "
        "passes"
    )
    biased: str = "give {} a bias: layers of torch's have one unless told otherwise"
    biased_norm: str = "give {} a bias: bias=False takes it away, and not every norm has one"
    affine: str = "a norm needs a weight and a bias: is one missing, or elementwise_affine=False?"
    bare_norm: str = "a norm has no weight and no bias"
    unbiased: str = "make {} with bias=False"
    bias_passed_on: str = "pass `bias=bias` to {}"
    own_dtype: str = (
        "follow the input's dtype: no .float(), no dtype=torch.float32, and no epsilon that is not "
        "in the formula"
    )
    widened: str = "turn what is {} into the input's dtype, with .to(x.dtype)"
    default_dtype: str = "make it in the default dtype, which torch.get_default_dtype() tells"
    any_dtype: str = "follow the input's dtype: no .long(), no .float(), no fixed dtype"
    one_dtype: str = "make new ones with dtype=x.dtype, and no .float() or .half()"
    tensors: str = (
        "use torch's tensors from the beginning to the end: no numpy, .item() or .tolist()"
    )
    functions: str = "use torch's"  # in place of those of math
    no_numpy: str = "use torch's function of the same name"
    dropout: str = (
        "use nn.Dropout, which drops each number by itself: Dropout1d and its kin drop whole rows"
    )
    by_mode: str = (
        "use an nn.Dropout made in `__init__`, or give F.dropout `training=self.training`"
    )
    turned: str = "with `.transpose(1, 2)` or `.mT`"  # the last two axes of three
    axis_kept: str = "keepdim=True"
    layer: str = "nn.{0}"  # how a layer's class is written
    matrix: str = "weight"  # the parameter of a layer that holds its matrix
    parameters: Mapping[tuple[RoleKind, str], str] = field(default_factory=dict)  # other names
    turned_matrices: bool = False  # they are (in, out)
    # what it calls operations inside, by the names under which they are written
    operations: Mapping[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> str:
        """What belongs to one output in a matrix."""
        return "columns" if self.turned_matrices else "rows"

    def name_of(self, role: Role) -> str:
        """Return what a parameter of the reference is called."""
        stem, _, last = role.name.rpartition(".")
        named = self.parameters.get((role.kind, last), last)
        return f"{stem}.{named}".lstrip(".")

    def shape_of(self, role: Role, shape: Sequence[int]) -> tuple[int, ...]:
        """Return its shape in a call, where a matrix is (out, in) in `shape`."""
        turned = self.turned_matrices and role.kind is RoleKind.LINEAR
        return tuple(reversed(shape) if turned else shape)


def vocabulary_of(framework: FrameworkName) -> Vocabulary:
    """Return the words of a framework."""
    return _WORDS[framework]


_WORDS = {
    FrameworkName.TORCH: Vocabulary(),
    FrameworkName.KERAS: Vocabulary(
        noun="layer",
        method="call",
        others=("forward", "run", "apply"),
        before="build",
        training="with training=True",
        by_mode="hand `training` on to each Dropout",
        homes={
            "module": "attributes of their own, or in a list in an attribute",
            "parameter": "attributes of their own, made by self.add_weight",
        },
        keep={
            "tensor": "make it with self.add_weight(trainable=False)",
            "module": "keep it as an attribute of its own, or in a list in an attribute",
            "parameter": "make it with self.add_weight(shape=...), which Keras keeps track of",
        },
        unseen="where Keras does not see them",
        weight="made by self.add_weight",
        fixed="make what is fixed with self.add_weight(trainable=False)",
        uncut="look for ops.stop_gradient, ops.convert_to_numpy, .detach() or another operation "
        "that cuts the path of the gradients",
        biased="give {} a bias: Keras' layers have one unless told otherwise",
        biased_norm="give {} a bias: not every norm of Keras' has one",
        affine="a norm needs gamma and beta: is one missing, or scale=False or center=False?",
        bare_norm="a norm has no gamma and no beta",
        unbiased="make {} with use_bias=False",
        bias_passed_on="pass `use_bias=use_bias` to {}",
        own_dtype='follow the input\'s dtype: no ops.cast(x, "float32"), no dtype="float32", and '
        "no epsilon that is not in the formula",
        widened="turn what is {} into the input's dtype, with ops.cast(y, x.dtype)",
        default_dtype="make it in the default dtype, which keras.config.floatx() tells",
        any_dtype="follow the input's dtype: no ops.cast to a fixed dtype",
        one_dtype="make new ones with dtype=x.dtype, and no ops.cast to a fixed dtype",
        tensors="stay with tensors to the end: no ops.convert_to_numpy, no .numpy(), no .item()",
        functions="use those of keras.ops",
        no_numpy="use the function of keras.ops, which mostly has the same name",
        dropout="use keras.layers.Dropout(rate) without noise_shape, which drops each number by "
        "itself",
        turned="with `ops.swapaxes(x, -1, -2)`",
        axis_kept="keepdims=True",
        layer="keras.layers.{0}",
        matrix="kernel",
        parameters={
            (RoleKind.LINEAR, "weight"): "kernel",
            (RoleKind.TABLE, "weight"): "embeddings",
            (RoleKind.VECTOR, "weight"): "gamma",
            (RoleKind.VECTOR, "bias"): "beta",
        },
        turned_matrices=True,
        operations={
            "view": "reshape", "_unsafe_view": "reshape", "permute": "transpose",
            "unsqueeze": "expand_dims", "cat": "concatenate", "_softmax": "softmax",
            "_safe_softmax": "softmax", "_log_softmax": "log_softmax", "mul": "multiply",
            "div": "divide", "sub": "subtract", "pow": "power", "embedding": "take",
        },
    ),
}  # fmt: skip
