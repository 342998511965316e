"""The actions: what a call does with its target, and what it claims of it."""

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from grader.worker import device, masks
from grader.worker.adam import Adam
from grader.worker.attached import LISTED, Loose, count_hidden, mode_of, named, untrained
from grader.worker.claims import CallClaim, type_name, unstacked, unwrapped, without_spare_axes
from grader.worker.learning import mixing_weights, predict, train, write
from grader.worker.loading import WorkerError
from grader.worker.names import Group, held_name, seen_name, tensor_name
from grader.worker.protocol import (
    SAMPLE_FEW,
    SAMPLE_MANY,
    SAMPLE_SEED,
    SAMPLE_SOURCES,
    Action,
    Cause,
    LooseClaim,
    Pieces,
    ShapeClaim,
    WorkerCall,
)
from grader.worker.record import Recorder
from grader.worker.targets import Ready, Targets


class CutOffError(WorkerError):
    """No gradient can flow from a submission's output to its inputs."""

    cause = Cause.CUT_OFF


@dataclass
class Workbench:
    """What the actions of one submission share."""

    targets: Targets
    audits: bool = True  # whether anything is claimed of registered parameters
    keeps: bool = False  # whether a module that keeps nothing is called again, where built alike
    labels: Collection[str] = ()  # the submission's own files, whose variables may be looked at
    forbidden: Mapping[str, Any] = field(default_factory=dict)  # what may not be used, by name
    last: tuple[WorkerCall, Ready] | None = None  # the last forward call, and what it called


def _forward(bench: Workbench, call: WorkerCall, claim: CallClaim) -> None:
    ready = _get_again(bench, call) if bench.keeps else bench.targets.get_ready(call)
    inputs = bench.targets.inputs(call.inputs, strided=call.strided)
    kept = list(inputs)
    before, versions = torch.get_rng_state(), _versions(ready.module)
    for _ in range(call.times):
        returned = ready.function(*inputs)
    if call.after is not None:
        returned = returned, kept[call.after].matrices
    for place, value in enumerate(kept):
        if isinstance(value, Tensor):
            claim.add(tensor_name(Group.INPUT, place), value)
        elif isinstance(value, nn.Module):
            claim.add(tensor_name(Group.INPUT, place), torch.tensor(mode_of(value)))
    claim.add_returned(call, returned)
    claim.info.bound = [bond.claim for bond in ready.bonds][:LISTED]
    drew = not torch.equal(before, torch.get_rng_state())
    if drew:
        with contextlib.suppress(Exception):
            again = ready.function(*bench.targets.inputs(call.inputs))
            claim.info.random = masks.is_another(returned, again)
    loose = [] if ready.module is None else bench.targets.framework.loose(ready.module)
    if ready.module is not None and bench.audits:
        _audit(bench, call, ready.module, loose, claim)
    # a result that it keeps could change the gradient, and what is drawn depends on the building
    if not loose and not drew and versions == _versions(ready.module):
        bench.last = call, ready


def _versions(module: nn.Module | None) -> list[tuple[int, int]]:
    """Tell the tensors of a module, and how often each was written to."""
    found = [] if module is None else [*module.buffers(), *module.parameters()]
    # torch has no other name for it, and keeps none of a tensor made for inference
    return [(id(b), 0 if b.is_inference() else b._version) for b in found]  # noqa: SLF001


def _audit(
    bench: Workbench,
    call: WorkerCall,
    module: nn.Module,
    loose: Sequence[Loose],
    claim: CallClaim,
) -> None:
    """Count the module's own parameters, and list tensors that it hides."""
    framework = bench.targets.framework
    modules = framework.modules(module)
    given = [m for m in modules if type(m).__module__.startswith("grader.worker")]
    played = {bound.name for bound in claim.info.bound}
    items = [i for i in framework.items(module, given) if not i.frozen or i.name in played]
    sizes = {id(i.parameters[0]): i.parameters[0].numel() for i in items}
    claim.info.registered = sum(sizes.values())
    claim.info.names = [ShapeClaim(i.name, list(i.shape)) for i in items[:LISTED]]
    first = {id(i.parameters[0]): i for i in reversed(items)}
    claim.info.again = [i.name for i in items[:LISTED] if i is not first[id(i.parameters[0])]]
    claim.info.loose = _lasting(bench, call, module, loose) if loose else []
    claim.info.given = len({id(m) for m in given})
    if call.watch:
        used = {type(m) for m in modules}
        names = {name for name, one in bench.forbidden.items() if one in used}
        claim.info.modules = sorted(names)


def _lasting(
    bench: Workbench, call: WorkerCall, module: nn.Module, loose: Sequence[Loose]
) -> list[LooseClaim]:
    """Of what hangs on the module unregistered, return what another call leaves in place.

    A result that is kept to be looked at, such as the weights of the last call, is no state.
    """
    with contextlib.suppress(Exception):
        module(*bench.targets.inputs(call.inputs))
    after = {id(found.thing) for found in bench.targets.framework.loose(module)}
    return named([found for found in loose if id(found.thing) in after])


def _gradient(bench: Workbench, call: WorkerCall, claim: CallClaim) -> None:
    ready = _get_again(bench, call)
    leaves: list[Any] = []
    inputs: list[Any] = []
    for value in bench.targets.inputs(call.inputs):
        real = isinstance(value, Tensor) and value.is_floating_point()
        leaves.append(value.requires_grad_() if real else value)
        # a copy: an in-place operation on the input is another check's business
        inputs.append(value.clone() if real else value)
    outputs = _outputs(call, ready.function(*inputs))
    total = _run_backward(bench, call, outputs)
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) and leaf.is_floating_point():
            claim.add(tensor_name(Group.INPUT_GRADIENT, place), _or_zeros(leaf.grad, leaf))
    for bond in ready.bonds:
        for role, gradient in zip(bond.roles, bond.gradients(), strict=True):
            name = tensor_name(Group.GRADIENT, role.name)
            claim.add(name, _or_zeros(gradient, torch.zeros(role.shape)))
    if ready.module is not None:
        parameters = bench.targets.framework.parameters(ready.module)
        claim.info.untrained = untrained(parameters, ready.bonds)

        def again() -> Tensor:
            return torch.as_tensor(sum(o.sum() for o in _outputs(call, ready.function(*inputs))))

        claim.info.hidden = count_hidden(total, [*parameters.values(), *leaves], again)


def _get_again(bench: Workbench, call: WorkerCall) -> Ready:
    """Return what the last forward call called, where it is built alike, else what is new.

    Building takes half of the time, and a module may be called more than once.
    """
    last, bench.last = bench.last, None
    again = last is not None and built_from(last[0]) == built_from(call)
    return last[1] if last is not None and again else bench.targets.get_ready(call)


def built_from(call: WorkerCall) -> tuple[object, ...]:
    """What tells that two calls have the same module."""
    made = (call.target, call.kind, call.construct, call.options, call.defaults)
    return (*made, call.roles, call.parameters)


def _run_backward(bench: Workbench, call: WorkerCall, outputs: Sequence[Any]) -> Tensor:
    """Take the gradient of the outputs, weighted by the call's cotangents; return their sum."""
    weighted = [(o, key) for o, key in zip(outputs, call.cotangents, strict=True) if key]
    if odd := [output for output, _ in weighted if not isinstance(output, Tensor)]:
        raise TypeError(f"a gradient needs tensors, a {type_name(odd[0])} came")
    tensors = bench.targets.tensors
    total = torch.as_tensor(sum((o * tensors[key].to(o.dtype)).sum() for o, key in weighted))
    if not total.requires_grad:
        raise CutOffError("the output is cut off from its inputs: no gradient can flow")
    total.backward()
    return total


def _reuse(bench: Workbench, call: WorkerCall, claim: CallClaim) -> None:
    ready = bench.targets.get_ready(call)
    ready.function(*bench.targets.inputs(call.inputs))
    # what is kept of a call may show only where the next has its shape, or once it was changed
    again = bench.targets.inputs(call.again)
    flipped = [v.flip(0) if isinstance(v, Tensor) and v.dim() else v for v in again]
    _spoil(ready.function(*flipped))
    claim.add_returned(call, ready.function(*again))


def _spoil(returned: object) -> None:
    """Write into a tensor that was returned, as its caller may."""
    if isinstance(returned, Tensor):
        with torch.no_grad(), contextlib.suppress(RuntimeError):  # where nobody can write into it
            returned.fill_(1)


def _device(bench: Workbench, call: WorkerCall, claim: CallClaim) -> None:
    with torch.no_grad():
        ready = bench.targets.get_ready(call)
        _on_device(ready.module)
        inputs = [_on_device(value) for value in bench.targets.inputs(call.inputs)]
        # torch's own classes of modes have no types
        with device.PretendDevice(), device.PretendConstructors():  # type: ignore[no-untyped-call]
            given = {call.device: device.DEVICE} if call.device else {}
            returned = ready.function(*inputs, **given)
            outputs = _outputs(call, returned)
    asked = f"`{call.device}` names" if call.device else "the input"
    for name, output in zip(call.outputs, outputs, strict=True):
        if not isinstance(returned, int | float):  # which is on no device
            device.refuse_elsewhere(output, asked)
        claim.add_output(call, name, device.values(output))


def _on_device(value: Any) -> Any:
    if isinstance(value, nn.Module):
        device.move(value)
    return device.PretendTensor(value) if isinstance(value, Tensor) else value


def _float32(bench: Workbench, call: WorkerCall, claim: CallClaim) -> None:
    with bench.targets.in_float32():
        ready = bench.targets.get_ready(call)
        claim.add_returned(call, ready.function(*bench.targets.inputs(call.inputs)))


def _train(bench: Workbench, call: WorkerCall, claim: CallClaim) -> None:
    ready = bench.targets.get_ready(call)
    function = ready.function
    if ready.module is not None:
        training = bench.targets.framework.training(ready.module)
        function = partial(training, **dict.fromkeys(ready.absent))
    drawing, once = masks.Drawing(), partial(bench.targets.inputs, call.inputs)

    def run(inputs: Sequence[Any]) -> list[Any]:
        with torch.no_grad(), drawing:
            return list(_outputs(call, function(*inputs)))

    found = masks.samples_of(partial(run, masks.repeated(once(), call.repeats)), call)
    for name, samples in found.items():
        for group, values in masks.moments(samples).items():
            claim.tensors[tensor_name(group, name)] = values
    claim.info.drew = masks.told(drawing.drew, found.values(), lambda: run(once()))


def _fit(bench: Workbench, call: WorkerCall, claim: CallClaim) -> None:
    module, framework = bench.targets.get_ready(call).module, bench.targets.framework
    if module is None or call.training is None:
        raise TypeError("there is no module to train")
    inputs = bench.targets.inputs(call.inputs)
    before = _outputs(call, module(*inputs))[0].detach()
    claim.add(tensor_name(Group.BEFORE), before)
    labels = bench.targets.tensors[call.training.labels]
    called = framework.training(module)
    adam = Adam(list(framework.parameters(module).values()), call.training.learning_rate)
    # well below what is asked for, for the last step may raise the loss again
    enough = nn.functional.nll_loss(before, labels) * call.training.share / 2
    for _ in range(call.training.steps):
        loss = nn.functional.nll_loss(_outputs(call, called(*inputs))[0], labels)
        if loss.detach() < enough:
            break
        loss.backward()
        adam.step()
    framework.evaluating(module)
    claim.add(tensor_name(Group.AFTER), _outputs(call, module(*inputs))[0].detach())


def _learn(bench: Workbench, call: WorkerCall, claim: CallClaim) -> None:
    module, how = bench.targets.get_ready(call).module, call.learning
    if module is None or how is None:
        raise TypeError("there is no module to train")
    samples, labels = (bench.targets.tensors[key] for key in (how.samples, how.labels))
    (inputs,) = bench.targets.inputs(call.inputs)
    losses = []
    for step, loss in enumerate(train(module, samples.to(inputs.dtype), labels, how), start=1):
        losses.append(loss)
        if step in how.stages:
            claim.add(tensor_name(Group.WRITTEN, step), write(module, inputs[:1]))
    claim.add(tensor_name(Group.LOSSES), torch.stack(losses))
    claim.add(tensor_name(Group.AFTER), predict(module, inputs))
    weights = mixing_weights(module, inputs)
    if weights is not None:
        claim.add(tensor_name(Group.MIXED), weights)


def _record(bench: Workbench, call: WorkerCall, claim: CallClaim) -> None:
    """Keep every tensor that the call makes on its way, fused attention taken apart.

    Where the call ends in an exception, what was made before it is the answer.
    """
    ready = bench.targets.get_ready(call)
    inputs = bench.targets.inputs(call.inputs)
    recorder = Recorder([v for v in inputs if isinstance(v, Tensor)], bench.labels)
    grad = torch.set_grad_enabled(call.after is not None)  # what trains asks for gradients itself
    try:
        with grad, sdpa_kernel(SDPBackend.MATH), recorder, recorder.watching():
            ready.function(*inputs)
    except Exception as error:  # noqa: BLE001 - the edge where student code runs
        recorder.end_with(error)
    for number, made in enumerate(recorder.made):
        claim.add(seen_name(number, made.operation, made.place, made.call), made.value)
    for number, (variable, value) in enumerate(recorder.held):
        claim.add(held_name(number, variable), value)


def _pieces(bench: Workbench, call: WorkerCall, claim: CallClaim) -> None:
    """Give the inputs piece by piece, and join what comes back.

    Asked for twice, every state is given to other pieces too, and then again to the right ones,
    the last one first: what comes back then is the answer.
    """
    pieces = call.pieces
    if pieces is None:
        raise TypeError("there are no pieces")
    ready = bench.targets.get_ready(call)
    parts, others = (
        _cut(bench.targets.inputs(arguments), pieces) for arguments in (call.inputs, call.again)
    )
    made: list[list[Any]] = []
    states: list[list[Any]] = [[]]  # nothing is handed on to the first
    for part in parts:
        made.append(_outputs(call, ready.function(*part, *states[-1])))
        states.append([made[-1][pieces.state]])
    if pieces.twice:
        for other, state in zip(others, states, strict=False):
            ready.function(*other, *state)
        for place in reversed(range(len(parts))):
            made[place] = _outputs(call, ready.function(*parts[place], *states[place]))
    joined = [
        torch.cat(values, dim=axis) if axis >= 0 else values[-1]
        for values, axis in zip(zip(*made, strict=True), pieces.outputs, strict=True)
    ]
    named = dict(zip(call.outputs, joined, strict=True))
    claim.add_returned(call, named if call.as_dict else joined)


def _cut(inputs: Sequence[Any], pieces: Pieces) -> list[list[Any]]:
    """Return the inputs of each call, contiguous as those of ordinary cases are."""
    found: list[list[Any]] = [[] for _ in pieces.lengths]
    for value, axis in zip(inputs, pieces.inputs, strict=True):
        cut = value.split(list(pieces.lengths), dim=axis) if axis >= 0 else [value] * len(found)
        for part, one in zip(found, cut, strict=True):
            part.append(one.contiguous() if axis >= 0 else one)
    return found


def _sample(bench: Workbench, call: WorkerCall, claim: CallClaim) -> None:
    """Draw for many copies of the inputs, and for fewer ones with other sources."""
    for run, (before, own) in SAMPLE_SOURCES.items():
        torch.default_generator.manual_seed(own)
        source = torch.Generator().manual_seed(SAMPLE_SEED)
        torch.rand(before, generator=source)
        more = {call.generator: source} if call.generator else {}
        ready = bench.targets.get_ready(call)
        copies = call.repeats if run == SAMPLE_MANY else SAMPLE_FEW
        inputs = masks.repeated(bench.targets.inputs(call.inputs), copies)
        with torch.no_grad():
            (drawn,) = _outputs(call, ready.function(*inputs, **more))
        claim.add(tensor_name(Group.DRAWN, run), drawn)


def _outputs(call: WorkerCall, returned: Any) -> list[Any]:
    """Return the outputs in order; raises TypeError where they come in another form."""
    count = len(call.outputs)
    if call.as_dict:
        if not isinstance(returned, dict) or set(returned) != set(call.outputs):
            raise TypeError(f"a dict of {', '.join(call.outputs)} was expected")
        returned = [returned[name] for name in call.outputs]
    elif count == 1:
        returned = [unwrapped(call, call.outputs[0], returned)]
    returned = unstacked(call, returned) or returned
    if not isinstance(returned, tuple | list) or len(returned) != count:
        raise TypeError(f"{count} tensors were expected, a {type_name(returned)} came")
    named = zip(call.outputs, returned, strict=True)
    return [without_spare_axes(call, name, value) for name, value in named]


def _or_zeros(gradient: Tensor | None, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if gradient is None else gradient


ACTIONS: Mapping[Action, Callable[[Workbench, WorkerCall, CallClaim], None]] = {
    Action.FORWARD: _forward,
    Action.GRADIENT: _gradient,
    Action.REUSE: _reuse,
    Action.DEVICE: _device,
    Action.FLOAT32: _float32,
    Action.TRAIN: _train,
    Action.FIT: _fit,
    Action.RECORD: _record,
    Action.PIECES: _pieces,
    Action.SAMPLE: _sample,
    Action.LEARN: _learn,
}
