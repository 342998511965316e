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
from grader.worker.calls import Answer, Runner, reseed
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
        reseed()  # a child may have served other exercises before
        self.imports = EarlierExercises(job["earlier"], job["own_earlier"])
        self.imports.install()
        units = job["units"]
        self.labels = frozenset(
            label for group in [units, *job["own_earlier"].values()] for label, _ in group
        )
        module = new_module(job["stem"], units[0][0] if units else job["stem"])
        self.error = run_units(module, units, go_on=job["notebook"])
        self.namespace = module.__dict__
        cast = {name: _cast(value, self.dtype) for name, value in tensors.items()}
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

    def close(self) -> None:
        """Let go of the submission's modules, before another job's come."""
        self.imports.withdraw(self.job["stem"])


def _flush() -> None:
    """Pass on what was printed; the process ends without another chance."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def serve(job_fd: int, answer_fd: int) -> None:
    """Read jobs from `job_fd` and answer them on `answer_fd`; single calls may follow a job."""
    session: Session | None = None

    def send(header: dict[str, Any], tensors: Tensors) -> None:
        arrays = {name: value.numpy() for name, value in tensors.items()}  # faster to save
        wire.write_all(answer_fd, wire.pack(header, save(arrays) if arrays else b""))

    while (frame := wire.read_frame(job_fd)) is not None:
        header, payload = frame
        tensors = load(payload) if payload else {}
        if session is not None and "action" in header:
            more = {name: _cast(value, session.dtype) for name, value in tensors.items()}
            session.runner.tensors.update(more)
            send(*session.answer(header))
            continue
        if session is not None:
            session.close()
            session = None  # what it holds makes room
        session = Session(header, tensors)
        send(session.greeting(), {})
        for call in header["calls"]:
            send(*session.answer(call))
    os.close(answer_fd)


def _cast(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return value.to(dtype) if value.is_floating_point() else value
