"""The pretend device allows what accelerators allow, and refuses to mix."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from grader.worker import device
from grader.worker.calls import Runner
from grader.worker.protocol import Action, TargetKind, TensorKey, WorkerCall
from grader.worker.torch_modules import TorchModules


def pretending() -> device.PretendDevice:
    """Return the mode; torch's own class of modes has no types."""
    return device.PretendDevice()  # type: ignore[no-untyped-call]


def elsewhere(*shape: int) -> device.PretendTensor:
    """Return a tensor of ones on the pretend device."""
    return device.PretendTensor(torch.ones(shape))


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + 1,
        lambda x: x * torch.tensor(2.0),
        lambda x: x + torch.ones(3, device=x.device),
        lambda x: x + torch.ones(3).to(x.device),
        lambda x: x + torch.zeros_like(x),
        lambda x: x + x.new_ones(3),
        lambda x: x[torch.tensor([0, 1])],
        lambda x: torch.softmax(x @ x.T, dim=-1),
        lambda x: x.clone().add_(1),
    ],
    ids=[
        "number",
        "0-dim tensor",
        "made there",
        "moved there",
        "like it",
        "new of it",
        "CPU index",
        "computed",
        "in place",
    ],
)
def test_pretend_device_allows_what_accelerators_allow(use: Any) -> None:
    with pretending():
        assert use(elsewhere(2, 3)).device == device.DEVICE


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + torch.ones(3),
        lambda x: x @ torch.ones(3, 3),
        lambda x: torch.cat([x, torch.ones(2, 3)]),
        lambda x: x.masked_fill(torch.zeros(2, 3, dtype=torch.bool), 0.0),
        lambda x: torch.nn.functional.embedding(torch.arange(2), x),
        lambda x: torch.eye(3)[x.argmax(dim=-1)],
        lambda x: torch.ones(2, 3)[x > 0],
    ],
    ids=["added", "multiplied", "joined", "mask", "looked up", "indexed", "masked"],
)
def test_pretend_device_refuses_to_mix(use: Any) -> None:
    with pretending(), pytest.raises(device.DeviceMix, match="tensors on two devices"):
        use(elsewhere(2, 3))


@pytest.mark.parametrize(
    ("name", "arguments"), [("t_", ()), ("unsqueeze_", (0,)), ("resize_", (3, 1))]
)
def test_axes_that_change_in_place_are_those_of_the_values(
    name: str, arguments: tuple[int, ...]
) -> None:
    values = torch.arange(6.0).reshape(2, 3)
    with pretending():
        there = device.PretendTensor(values.clone())
        getattr(there, name)(*arguments)
        getattr(values, name)(*arguments)
        assert there.shape == values.shape
        assert there.stride() == values.stride()
        assert torch.equal(device.values(there + 1), values + 1)


def test_pretend_device_keeps_values_for_control_flow() -> None:
    with pretending():
        assert bool((elsewhere(2, 3).sum() > 5).item())


def test_move_keeps_shared_parameters_shared_and_lets_them_be_shared_again() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[1].weight = module[0].weight
    device.move(module)
    assert module[1].weight is module[0].weight
    module[1].weight = module[0].weight  # some models tie at each call


def test_move_takes_parameters_and_buffers_along() -> None:
    module = nn.BatchNorm1d(3)
    device.move(module)
    moved = [*module.parameters(), *module.buffers()]
    assert {t.device for t in moved if t.dim() > 0} == {device.DEVICE}


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + torch.tensor([1.0, 2.0, 3.0], device=x.device),
        lambda x: x + torch.tensor(data=[1.0, 2.0, 3.0], device=x.device),
        lambda x: x + torch.as_tensor([1.0, 2.0, 3.0], device=x.device),
        lambda x: x + x.new_tensor([1.0, 2.0, 3.0]),
    ],
    ids=["tensor", "by name", "as_tensor", "new_tensor"],
)
def test_tensor_of_plain_numbers_is_made_where_it_is_asked_for(use: Any) -> None:
    with pretending(), device.PretendConstructors():
        made = use(elsewhere(2, 3))
    assert device.values(made).tolist() == [[2.0, 3.0, 4.0]] * 2


def test_values_are_read_as_an_accelerator_lets_code_do() -> None:
    with pretending(), device.PretendConstructors():
        assert elsewhere(2).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("read", [torch.Tensor.numpy, np.asarray], ids=["numpy", "asarray"])
def test_numpy_gets_nothing_from_an_accelerator(read: Any) -> None:
    """The error is the one that a GPU raises."""
    with (
        pretending(),
        device.PretendConstructors(),
        pytest.raises(TypeError, match="device type tensor to numpy"),
    ):
        read(elsewhere(2, 3))


def test_tensor_of_plain_numbers_is_on_the_cpu_where_nothing_is_asked_for() -> None:
    with pretending(), device.PretendConstructors(), pytest.raises(device.DeviceMix):
        elsewhere(2, 3) + torch.tensor([1.0, 2.0, 3.0])


def on_device(shapes: Mapping[str, Sequence[int]] | None = None) -> WorkerCall:
    """Return a call of a function of `x` on the pretended device."""
    return WorkerCall(
        id="",
        target="target",
        kind=TargetKind.FUNCTION,
        action=Action.DEVICE,
        construct=(),
        options={},
        inputs=(TensorKey("x"),),
        outputs=("output",),
        shapes=shapes or {},
    )


@pytest.mark.parametrize("moved", [False, True], ids=["there", "on the CPU and moved"])
def test_device_call_answers_with_the_values_computed_there(moved: bool) -> None:
    def target(x: torch.Tensor) -> torch.Tensor:
        return x.cpu().softmax(-1).to(x.device) if moved else x.softmax(-1)

    x = torch.tensor([[0.0, 1.0, 2.0]], dtype=torch.float64)
    call = on_device()
    claim = Runner({"target": target}, {"x": x}, torch.float64, 1 << 20, TorchModules()).make(call)
    assert torch.equal(claim.tensors["output/output"], x.softmax(-1))


def test_axes_of_one_too_many_are_left_out_while_the_device_is_pretended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Outside the mode an operation would make torch import its compiler: seconds, in a child."""

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(device.PretendTensor, "__torch_dispatch__", refuse)
    call = on_device(shapes={"output": (1, 3)})
    x = torch.tensor([[0.0, 1.0, 2.0]], dtype=torch.float64)
    target = {"target": lambda x: x[None]}
    claim = Runner(target, {"x": x}, torch.float64, 1 << 20, TorchModules()).make(call)
    assert torch.equal(claim.tensors["output/output"], x)


def test_a_generator_of_the_input_s_device_draws() -> None:
    chances = device.PretendTensor(torch.tensor([[0.0, 1.0, 0.0]]))
    with pretending(), device.PretendConstructors():
        generator = torch.Generator(device=chances.device)
        drawn = torch.multinomial(chances, 1, generator=generator.manual_seed(3))
    assert (drawn.device, device.values(drawn).item()) == (device.DEVICE, 1)
    assert torch.Generator.__name__ == "Generator"


@pytest.mark.parametrize(
    ("use", "there"),
    [
        (lambda x: torch.cat([x[:, 1:], x], dim=1), True),
        (lambda x: x.to(torch.float64), True),
        (lambda x: torch.ones(3).to(x), True),
        (lambda x: torch.ones(3).to(x.device) + x, True),
        (lambda x: torch.ones(3).to(x.device, torch.float64), True),
        (lambda x: x.to(torch.ones(3)), False),
        (lambda x: x.to("cpu"), False),
        (lambda x: x.cpu(), False),
    ],
    ids=["joined", "dtype", "like it", "moved there", "both", "like another", "moved", "cpu"],
)
def test_pretend_device_is_the_same_in_inference_mode(use: Any, there: bool) -> None:
    for mode in (torch.no_grad(), torch.inference_mode()):
        with pretending(), mode:
            made = use(elsewhere(2, 3))
        assert (made.device == device.DEVICE) is there
        assert device.values(made).device == torch.device("cpu")


def test_pretend_device_refuses_to_mix_in_inference_mode() -> None:
    with pretending(), torch.inference_mode(), pytest.raises(device.DeviceMix):
        elsewhere(2, 3).add(torch.ones(3))


def test_a_pretended_tensor_does_not_tell_what_it_holds() -> None:
    held = [x for x in vars(elsewhere(3)).values() if isinstance(x, torch.Tensor)]
    assert held == []
    assert not hasattr(elsewhere(3), "held")


@pytest.mark.parametrize(
    "index",
    [
        (slice(None), [-1]),
        ([True, False],),
        ([0, 1], [2, 0]),
        (np.array([1, 0]),),
        (..., [0, 2]),
        (None, [1]),
    ],
    ids=["a list", "of truths", "two lists", "an array", "behind dots", "with a new axis"],
)
def test_numbers_in_an_index_are_kept(index: Any) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    there = device.PretendTensor(x.clone())
    with pretending(), device.PretendConstructors():
        taken = device.values(there[index])
        there[index] = 7.0
    assert torch.equal(taken, x[index])
    x[index] = 7.0
    assert torch.equal(device.values(there), x)
