"""What a child does: read a job, load the submission, make its calls, send each answer.

Everything that is sent is a claim; whatever the submission does to this process, the parent
judges only plain bytes.
"""

import contextlib
import mmap
import os
import random
import sys
from collections.abc import Sequence

import numpy.random
import torch
from safetensors.numpy import save
from safetensors.torch import load

from grader.worker import importing, unset, wire
from grader.worker.binding import Unbound
from grader.worker.calls import SEED, Runner
from grader.worker.forbidden import note_all_threads
from grader.worker.frameworks import FrameworkName
from grader.worker.loading import EarlierExercises, describe_error, new_module, run_units
from grader.worker.protocol import (
    AnswerClaim,
    ClaimStatus,
    GreetingClaim,
    Job,
    WorkerCall,
    to_json,
)
from grader.worker.warned import tell_warnings

Tensors = dict[str, torch.Tensor]
_ROOM = 64 << 20  # bytes: a child that has taken more memory leaves the next job to a fresh process
DTYPES = {"float64": torch.float64, "float32": torch.float32}


class Session:
    """A loaded submission that answers calls."""

    def __init__(self, job: Job, calls: Sequence[WorkerCall], tensors: Tensors) -> None:
        """Run the submission's text; `calls` are those that are known to come."""
        self.job = job
        own = [unit for group in [job.units, *job.own_earlier.values()] for unit in group]
        self.labels = frozenset(label for label, _ in own)
        self.dtype = DTYPES[job.dtype]
        self.limit = job.message_characters
        note_all_threads()
        tell_warnings(self.labels)
        framework = importing.load(FrameworkName(job.framework))
        framework.set_dtype(self.dtype)
        framework.seed(SEED)
        random.seed(SEED)
        numpy.random.seed(SEED)
        unset.fill_new_memory(text for _, text in own)
        self.imports = EarlierExercises(job.earlier, job.own_earlier)
        self.imports.install()
        module = new_module(job.stem, job.units[0][0] if job.units else job.stem)
        self.error = run_units(module, job.units, go_on=job.notebook)
        self.namespace = module.__dict__
        self.tensors = {name: _cast(value, self.dtype) for name, value in tensors.items()}
        self.runner = Runner(
            self.namespace,
            self.tensors,
            self.dtype,
            job.answer_bytes,
            framework,
            labels=self.labels,
        )
        self.runner.announce(calls, job.forbids)

    def add_tensors(self, tensors: Tensors) -> None:
        """Take more tensors that calls name."""
        self.tensors.update({name: _cast(value, self.dtype) for name, value in tensors.items()})

    def greeting(self) -> GreetingClaim:
        """Say how loading went, and which names there are."""
        names = [n for n in self.namespace if isinstance(n, str) and not n.startswith("__")]
        error = describe_error(self.error, self.labels, self.limit) if self.error else None
        _flush()
        return GreetingClaim(True, error, [n[:80] for n in names[:400]])

    def answer(self, call: WorkerCall) -> tuple[AnswerClaim, Tensors]:
        """Make a call and return what is claimed of it."""
        if not callable(self.namespace.get(call.target)):
            return AnswerClaim(call.id, ClaimStatus.MISSING), {}
        try:
            made = self.runner.make(call)
            _flush()
            return AnswerClaim(call.id, ClaimStatus.OK, made.info), made.tensors
        except Unbound as unbound:
            return AnswerClaim(call.id, ClaimStatus.UNBOUND, unbound.info), {}
        except BaseException as error:  # noqa: BLE001 - the edge where student code runs
            described = describe_error(error, self.labels, self.limit)
            _flush()
            return AnswerClaim(call.id, ClaimStatus.RAISED, error=described), {}

    def close(self) -> None:
        """Forget the submission's modules before those of another job are loaded."""
        self.imports.withdraw(self.job.stem)


def _flush() -> None:
    """Pass on what was printed; the process ends without doing so by itself."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def serve(job_fd: int, answer_fd: int, data_mib: int) -> None:
    """Read jobs from `job_fd` and answer them on `answer_fd`; single calls may follow a job.

    It ends when a job comes and there is less memory left than in a fresh process, of `data_mib`.
    """
    session: Session | None = None

    def send(header: AnswerClaim | GreetingClaim, tensors: Tensors) -> None:
        arrays = {n: value.detach().numpy() for n, value in tensors.items()}  # faster to save
        wire.write_all(answer_fd, wire.pack(to_json(header), save(arrays) if arrays else b""))

    while (frame := wire.read_frame(job_fd)) is not None:
        tensors = load(frame.payload) if frame.payload else {}
        calls = [WorkerCall.from_json(call) for call in frame.header["calls"]]
        if session is not None and "job" not in frame.header:
            session.add_tensors(tensors)
            for call in calls:
                send(*session.answer(call))
            continue
        if session is not None:
            session.close()
            session = None  # which frees its memory
            if not _can_take((data_mib << 20) - _ROOM):
                break
        session = Session(Job(**frame.header["job"]), calls, tensors)
        send(session.greeting(), {})
        for call in calls:
            send(*session.answer(call))
    os.close(answer_fd)


def _can_take(size: int) -> bool:
    """Whether so many bytes of memory may still be taken; none of them is."""
    if sys.platform == "win32" or size <= 0:
        return True
    try:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        return False
    return True


def _cast(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return value.to(dtype) if value.is_floating_point() else value
