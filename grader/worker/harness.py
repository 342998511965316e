"""A child's life: read a job, load the submission, make its calls, send each answer.

Everything that is sent is a claim; whatever the submission does to this process, the parent
judges only plain bytes.
"""

import contextlib
import os
import sys
from typing import Any

import torch
from safetensors.numpy import save
from safetensors.torch import load

from grader.worker import wire
from grader.worker.binding import Unbound
from grader.worker.calls import Answer, Runner
from grader.worker.device import DeviceMix
from grader.worker.loading import EarlierExercises, describe_error, new_module, run_units

Tensors = dict[str, torch.Tensor]
DTYPES = {"float64": torch.float64, "float32": torch.float32}


class Session:
    """A loaded submission that answers calls."""

    def __init__(self, job: dict[str, Any], tensors: Tensors) -> None:
        self.job = job
        self.dtype = DTYPES[job["dtype"]]
        self.limit = job["message_bytes"]
        torch.set_default_dtype(self.dtype)
        EarlierExercises(job["earlier"], job["own_earlier"]).install()
        units = job["units"]
        self.labels = frozenset(
            label for group in [units, *job["own_earlier"].values()] for label, _ in group
        )
        module = new_module(job["stem"], units[0][0] if units else job["stem"])
        self.error = run_units(module, units, go_on=job["notebook"])
        self.namespace = module.__dict__
        cast = {k: v.to(self.dtype) if v.is_floating_point() else v for k, v in tensors.items()}
        self.runner = Runner(
            self.namespace, cast, self.dtype, job["answer_bytes"], mixing=job["mixing"]
        )
        self.runner.announce(job["calls"], job["forbids"])

    def greeting(self) -> dict[str, Any]:
        """Say how loading went, and which names there are."""
        names = [n for n in self.namespace if isinstance(n, str) and not n.startswith("__")]
        error = describe_error(self.error, self.labels, self.limit) if self.error else None
        _flush()
        return {"loaded": True, "error": error, "names": [n[:80] for n in names[:400]]}

    def answer(self, call: dict[str, Any]) -> tuple[dict[str, Any], Tensors]:
        """Make a call and return the header and tensors of its answer."""
        if not callable(self.namespace.get(call["target"])):
            return {"call": call["id"], "status": "missing"}, {}
        try:
            made: Answer = self.runner.make(call)
            _flush()
            return {"call": call["id"], "status": "ok", "info": made.info}, made.tensors
        except Unbound as unbound:
            info = {
                "sought": unbound.sought,
                "present": unbound.present[:64],
                "loose": unbound.loose,
            }
            return {"call": call["id"], "status": "unbound", "info": info}, {}
        except BaseException as error:  # noqa: BLE001 - the edge where student code runs
            described = describe_error(error, self.labels, self.limit)
            _flush()
            described["device"] = isinstance(error, DeviceMix)
            return {"call": call["id"], "status": "raised", "error": described}, {}


def _flush() -> None:
    """Pass on what was printed; the process ends without another chance."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def serve(job_fd: int, answer_fd: int) -> None:
    """Read one job from `job_fd`, answer it on `answer_fd`, and then single calls till the end."""
    first = wire.read_frame(job_fd)
    if first is None:
        return
    job, payload = first
    session = Session(job, load(payload) if payload else {})

    def send(header: dict[str, Any], tensors: Tensors) -> None:
        arrays = {name: value.numpy() for name, value in tensors.items()}  # faster to save
        wire.write_all(answer_fd, wire.pack(header, save(arrays) if arrays else b""))

    send(session.greeting(), {})
    for call in job["calls"]:
        send(*session.answer(call))
    while (more := wire.read_frame(job_fd)) is not None:
        header, payload = more
        extra = load(payload) if payload else {}
        session.runner.tensors.update({k: _cast(v, session.dtype) for k, v in extra.items()})
        send(*session.answer(header))
    os.close(answer_fd)


def _cast(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return value.to(dtype) if value.is_floating_point() else value
