"""Makes one call of a target and gathers what it returned, as plain tensors and plain data."""

import contextlib
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from grader.worker import device
from grader.worker.adam import Adam
from grader.worker.attached import LISTED, Loose, is_lazy, loose_things, named, untrained
from grader.worker.binding import Bond, Item, Memory, Role, Unbound, bind, own_items
from grader.worker.forbidden import Watch, resolve
from grader.worker.parts import bind_parts
from grader.worker.probes import build_probe
from grader.worker.record import Recorder

Call = dict[str, Any]
Tensors = dict[str, Tensor]
Built = tuple[Callable[..., Any], nn.Module | None, list[Bond]]
_BUILT_FROM = ("target", "kind", "construct", "options", "roles", "parameters")
Recipes = dict[Hashable, list[Bond] | Unbound]  # how modules of one look are bound, if they are
_COUNTS = 4  # arguments that may tell how many parts a role's rows have
_ORDERS = ((1, 0, 2), (2, 0, 1), (1, 2, 0))  # of roles, parts and a part's rows in a fused layer
_SEED = 20170612  # any fixed number: a call draws the same masks on every run
_DTYPES = (
    torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.int16,
    torch.int8, torch.uint8, torch.bool,
)  # fmt: skip


class Answer:
    """What one call came to: named tensors and a description of what was returned."""

    def __init__(self) -> None:
        self.tensors: Tensors = {}
        self.info: dict[str, Any] = {}
        self.bytes = 0


class Runner:
    """Makes calls of the targets in a namespace, one after the other."""

    def __init__(
        self,
        namespace: dict[str, Any],
        tensors: Tensors,
        dtype: torch.dtype,
        answer_bytes: int,
        *,
        shared: Recipes | None = None,
        audits: bool = True,
        mixing: int = 0,
    ) -> None:
        """`shared` keeps what other runners learnt of modules made of torch's own layers.

        `mixing` tells in which order the rows of fused layers lie: 0 is role by role.
        Without `audits` nothing is claimed of registered parameters.
        """
        self.shared = {} if shared is None else shared
        self.audits = audits
        self.mixing = mixing
        self.namespace = namespace
        self.tensors = tensors
        self.dtype = dtype
        self.answer_bytes = answer_bytes
        self.memories: dict[str, Memory] = {}
        self.recipes: Recipes = {}
        self.constructs: dict[str, list[Call]] = {}
        self.forbidden: dict[str, Any] = {}
        self.last: tuple[Call, Built | None] = {}, None  # the last forward call, what it called

    def announce(self, calls: Sequence[Call], forbidden: Sequence[str]) -> None:
        """Tell the calls to come, from which parameter layouts are learnt, and forbidden names."""
        for call in calls:
            if call["roles"]:
                self.constructs.setdefault(call["target"], []).append(call)
        self.forbidden = {name: found for name in forbidden if (found := resolve(name)) is not None}

    def make(self, call: Call) -> Answer:
        """Make one call; lets every exception of the submission through."""
        torch.set_default_dtype(self.dtype)
        torch.set_grad_enabled(True)
        reseed()
        action: Callable[[Call, Answer], None] = getattr(self, f"_{call['action']}")
        answer = Answer()
        if call["watch"] and self.forbidden:
            with Watch(self.forbidden) as watch:
                action(call, answer)
            answer.info["forbidden"] = sorted(watch.seen)
        else:
            action(call, answer)
        return answer

    # ---- actions ----------------------------------------------------------------------------

    def _forward(self, call: Call, answer: Answer) -> None:
        built = self._build(call)
        function, module, bonds = built
        inputs = self._inputs(call["inputs"], strided=call["strided"])
        kept = list(inputs)
        returned = function(*inputs)
        for name, value in zip(self._input_names(call), kept, strict=True):
            if isinstance(value, Tensor):
                self._add(answer, f"input/{name}", value)
        self._collect(call, returned, answer)
        if any(bond.fused for bond in bonds):
            answer.info["mixes"] = len(_mixes(call))
        loose = [] if module is None else loose_things(module)
        if module is not None and self.audits:
            self._audit(call, module, loose, answer)
        if not loose:  # what it keeps could reach the gradient
            self.last = call, built

    def _gradient(self, call: Call, answer: Answer) -> None:
        (before, built), self.last = self.last, ({}, None)
        # half of the time is building; a module is there to be called more than once
        alike = all(before.get(part) == call[part] for part in _BUILT_FROM)
        function, module, bonds = built if built and alike else self._build(call)
        leaves: list[Any] = []
        inputs: list[Any] = []
        for value in self._inputs(call["inputs"]):
            real = isinstance(value, Tensor) and value.is_floating_point()
            leaves.append(value.requires_grad_() if real else value)
            # a copy: an in-place operation on the input is another check's business
            inputs.append(value.clone() if real else value)
        outputs = _as_list(function(*inputs), len(call["outputs"]))
        if odd := [output for output in outputs if not isinstance(output, Tensor)]:
            raise TypeError(f"a gradient needs tensors, a {_type_name(odd[0])} came")
        total = sum(
            (output * self.tensors[key].to(output.dtype)).sum()
            for output, key in zip(outputs, call["cotangents"], strict=True)
        )
        if not total.requires_grad:
            raise CutOffError("the output is cut off from its inputs: no gradient can flow")
        total.backward()
        for name, leaf in zip(self._input_names(call), leaves, strict=True):
            if isinstance(leaf, Tensor) and leaf.is_floating_point():
                self._add(answer, f"grad/{name}", _or_zeros(leaf.grad, leaf))
        for bond in bonds:
            for role, gradient in zip(bond.roles, bond.gradients(), strict=True):
                zeros = torch.zeros(role.shape)
                self._add(answer, f"grad/{role.name}", _or_zeros(gradient, zeros))
        if module is not None:
            answer.info["untrained"] = untrained(module, bonds)

    def _reuse(self, call: Call, answer: Answer) -> None:
        function, _, _ = self._build(call)
        function(*self._inputs(call["inputs"]))
        self._collect(call, function(*self._inputs(call["again"])), answer)

    def _device(self, call: Call, answer: Answer) -> None:  # noqa: ARG002 - as every action
        with torch.no_grad():
            function, module, _ = self._build(call)
            if module is not None:
                device.move(module)
            inputs = [
                device.Elsewhere(v) if isinstance(v, Tensor) else v
                for v in self._inputs(call["inputs"])
            ]
            with device.PretendDevice():  # type: ignore[no-untyped-call]
                returned = function(*inputs)
        for output in _as_list(returned, len(call["outputs"])):
            if isinstance(output, Tensor) and output.device != device.DEVICE:
                raise device.DeviceMix("the output is on another device than the input")

    def _train(self, call: Call, answer: Answer) -> None:
        function, module, _ = self._build(call)
        if module is not None:
            module.train()
        repeats = call["extra"]["repeats"]
        inputs = [
            v.repeat(repeats, *[1] * (v.dim() - 1)) if isinstance(v, Tensor) else v
            for v in self._inputs(call["inputs"])
        ]
        with torch.no_grad():
            outputs = _as_list(function(*inputs), len(call["outputs"]))
        for name, output in zip(call["outputs"], outputs, strict=True):
            if not isinstance(output, Tensor) or output.size(0) % repeats:
                raise TypeError(f"in training mode the {name} has another shape than in evaluation")
            samples = output.double().unflatten(0, (repeats, -1))
            mean = samples.mean(0)
            squares = (samples - mean).square_()
            answer.tensors[f"mean/{name}"] = mean
            answer.tensors[f"second/{name}"] = squares.mean(0)
            answer.tensors[f"fourth/{name}"] = squares.square_().mean(0)

    def _fit(self, call: Call, answer: Answer) -> None:
        function, module, _ = self._build(call)
        if module is None:
            raise TypeError("there is no module to train")
        labels = self.tensors[call["extra"]["labels"]]
        inputs = self._inputs(call["inputs"])
        before = function(*inputs).detach()
        self._add(answer, "before", before)
        module.train()
        # well below what is asked for, for the last step may raise the loss again
        enough = nn.functional.nll_loss(before, labels) * call["extra"]["share"] / 2
        optimizer = Adam(list(module.parameters()), call["extra"]["learning_rate"])
        for _ in range(call["extra"]["steps"]):
            loss = nn.functional.nll_loss(function(*inputs), labels)
            if loss.detach() < enough:
                break
            loss.backward()
            optimizer.step()
        module.eval()
        self._add(answer, "after", function(*inputs).detach())

    def _record(self, call: Call, answer: Answer) -> None:
        """Keep every tensor that the call makes on its way, fused attention taken apart.

        Where the call ends in an exception, what was made before it is the answer.
        """
        function, _, _ = self._build(call)
        inputs = self._inputs(call["inputs"])
        recorder = Recorder([v for v in inputs if isinstance(v, Tensor)])
        with (
            contextlib.suppress(Exception),
            torch.no_grad(),
            sdpa_kernel(SDPBackend.MATH),
            recorder,
        ):
            function(*inputs)
        for index, (operation, value) in enumerate(recorder.made):
            self._add(answer, f"seen/{index:03}/{operation}", value)

    # ---- parts ------------------------------------------------------------------------------

    def _build(self, call: Call) -> Built:
        """Return what to call, its module (None for a function) and the parameters' bonds."""
        target = self.namespace[call["target"]]
        if call["kind"] == "function":
            return (lambda *inputs: target(*inputs, **call["options"])), None, []
        module, given = self._construct(target, call)
        if is_lazy(module):
            with torch.no_grad():
                module(*self._inputs(call["inputs"]))  # a lazy layer gets its sizes here
        bonds: list[Bond] = []
        if call["roles"]:
            bonds = self._load_parameters(call, module, given)
        module.eval()
        return module, module, bonds

    def _construct(self, target: Any, call: Call) -> tuple[nn.Module, list[nn.Module]]:
        arguments = self._inputs(call["construct"])
        module = target(*arguments, **call["options"])
        if not isinstance(module, nn.Module):
            raise TypeError(f"{call['target']} makes a {type(module).__name__}, not an nn.Module")
        return module, [a for a in arguments if isinstance(a, nn.Module)]

    def _load_parameters(self, call: Call, module: nn.Module, given: list[nn.Module]) -> list[Bond]:
        items = own_items(module, given)
        bonds = self._bind(call, module, given, items)
        if 0 < self.mixing <= len(mixes := _mixes(call)):
            bonds = [bond.mixed(*mixes[self.mixing - 1]) for bond in bonds]
        played = {id(p) for bond in bonds for p in bond.item.parameters}
        with torch.no_grad():
            for bond in bonds:
                bond.load([self.tensors[call["parameters"][role.name]] for role in bond.roles])
            for item in items:
                # A bias that nobody asked for is the audit's business, not the values'.
                if item.name.endswith("bias") and id(item.parameters[0]) not in played:
                    item.parameters[0].zero_()
        return bonds

    def _bind(
        self, call: Call, module: nn.Module, given: list[nn.Module], items: list[Item]
    ) -> list[Bond]:
        """Bind; modules of the same names and shapes are bound alike without a new search."""
        roles = _roles(call)
        bonds: list[Bond] = []
        if any(role.part for role in roles):
            module.eval()
            run = partial(module, *self._inputs(call["inputs"]))
            # parts of other names are bound as layers are, by their own names, shapes and order
            with contextlib.suppress(Unbound):
                bonds, parts = bind_parts(module, [role for role in roles if role.part], run)
                given = [*given, *parts]
                items = own_items(module, given)
                roles = [role for role in roles if not role.part]
        alike = (
            call["target"],
            tuple((item.name, item.shape, item.owner) for item in items),
            tuple((role.name, role.shape) for role in roles),
        )
        recipes = self.shared if all(item.of_torch for item in items) else self.recipes
        if alike not in recipes:
            memory = self._memory(call["target"], module, given)
            try:
                recipes[alike] = bind(module, roles, given, memory)
            except Unbound as unbound:
                unbound.loose = named(loose_things(module))
                recipes[alike] = unbound.with_traceback(None)
        recipe = recipes[alike]
        if isinstance(recipe, Unbound):
            raise recipe
        own = {item.name: item.parameters[0] for item in items}
        return [*bonds, *(bond.rebound(own) for bond in recipe)]

    def _memory(self, target: str, module: nn.Module, given: list[nn.Module]) -> Memory:
        """Layouts that the shapes of some instance tell; only raw matrices need them."""
        if target not in self.memories:
            memory = self.memories[target] = {}
            items = own_items(module, given)
            if any(item.raw and item.parameters[0].dim() > 1 for item in items):
                for call in self.constructs.get(target, []):
                    try:
                        other, sublayers = self._construct(self.namespace[target], call)
                        roles = [role for role in _roles(call) if not role.part]
                        bind(other, roles, sublayers, memory)
                    except Exception:  # noqa: BLE001, S112 - the call itself will say it
                        continue
        return self.memories[target]

    def _inputs(self, arguments: Sequence[dict[str, Any]], *, strided: bool = False) -> list[Any]:
        made: list[Any] = []
        for argument in arguments:
            if "tensor" in argument:
                value = self.tensors[argument["tensor"]].clone()
                made.append(_non_contiguous(value) if strided else value)
            elif "probe" in argument:
                parts = {k: self.tensors[v].clone() for k, v in argument["tensors"].items()}
                made.append(build_probe(argument["probe"], parts))
            else:
                made.append(argument["value"])
        return made

    def _input_names(self, call: Call) -> list[str]:
        return [str(index) for index in range(len(call["inputs"]))]

    def _collect(self, call: Call, returned: Any, answer: Answer) -> None:
        """Describe what was returned, and take the tensors that are plain and not too large."""
        wanted = call["outputs"]
        single = len(wanted) == 1
        parts = [returned] if single or not isinstance(returned, tuple | list) else list(returned)
        answer.info["returned"] = None if single else _type_name(returned)
        answer.info["count"] = len(parts)
        answer.info["parts"] = [self._describe(part) for part in parts[:8]]
        for name, part in zip(wanted, parts, strict=False):
            self._add(answer, f"output/{name}", part)

    def _describe(self, value: Any) -> dict[str, Any]:
        described: dict[str, Any] = {"type": _type_name(value)}
        if isinstance(value, Tensor):
            described["shape"] = list(value.shape)[:16]
            described["dtype"] = str(value.dtype).removeprefix("torch.")
        return described

    def _add(self, answer: Answer, name: str, value: Any) -> None:
        if type(value) not in (Tensor, nn.Parameter) or value.layout is not torch.strided:
            return
        if value.dtype not in _DTYPES or value.device.type != "cpu":
            return
        answer.bytes += value.numel() * value.element_size()
        if answer.bytes > self.answer_bytes:
            return
        plain = value.detach().resolve_conj().resolve_neg()
        answer.tensors[name] = plain.clone(memory_format=torch.contiguous_format)

    def _audit(self, call: Call, module: nn.Module, loose: Sequence[Loose], answer: Answer) -> None:
        """Count the module's own parameters, and list tensors that it hides."""
        given = [m for m in module.modules() if type(m).__module__.startswith("grader.worker")]
        items = own_items(module, given)
        sizes = {id(i.parameters[0]): i.parameters[0].numel() for i in items}
        answer.info["registered"] = sum(sizes.values())
        answer.info["names"] = [[i.name, list(i.shape)] for i in items[:LISTED]]
        answer.info["loose"] = self._lasting(call, module, loose) if loose else []
        answer.info["given"] = len({id(m) for m in given})
        if call["watch"]:
            classes = [c for c in self.forbidden.values() if isinstance(c, type)]
            used = {type(m) for m in module.modules()}
            names = {n for n, c in self.forbidden.items() if c in classes and c in used}
            answer.info["modules"] = sorted(names)

    def _lasting(
        self, call: Call, module: nn.Module, loose: Sequence[Loose]
    ) -> list[tuple[str, str]]:
        """Of what hangs on the module unregistered, return what another call leaves in place.

        A result that is kept to be looked at, such as the weights of the last call, is no state.
        """
        with contextlib.suppress(Exception):
            module(*self._inputs(call["inputs"]))
        after = {id(thing) for _, _, thing in loose_things(module)}
        return named([found for found in loose if id(found[2]) in after])


def reseed() -> None:
    """Begin torch's random numbers anew."""
    torch.default_generator.manual_seed(_SEED)  # torch.manual_seed asks every accelerator


class CutOffError(RuntimeError):
    """No gradient can flow from a submission's output to its inputs."""


def _roles(call: Call) -> list[Role]:
    return [
        Role(**{**r, "shape": tuple(r["shape"]), "aliases": tuple(r["aliases"])})
        for r in call["roles"]
    ]


def _mixes(call: Call) -> list[tuple[int, tuple[int, ...]]]:
    """The orders in which rows of fused layers may lie, by parts as many as some argument says."""
    values = [argument.get("value") for argument in call["construct"]]
    counts = [v for v in (*values, *call["options"].values()) if type(v) is int]
    return [(count, order) for count in counts[:_COUNTS] for order in _ORDERS]


def _as_list(returned: Any, count: int) -> list[Any]:
    if count == 1:
        return [returned]
    if not isinstance(returned, tuple | list) or len(returned) != count:
        raise TypeError(f"{count} tensors were expected, a {_type_name(returned)} came")
    return list(returned)


def _or_zeros(gradient: Tensor | None, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if gradient is None else gradient


def _non_contiguous(value: Tensor) -> Tensor:
    """Return a view of the same values whose strides are not those of a fresh tensor."""
    if value.dim() < 2:
        return value.repeat_interleave(2)[::2]
    return value.transpose(0, -1).contiguous().transpose(0, -1)


def _type_name(value: Any) -> str:
    return str(type(value).__name__)[:80]
