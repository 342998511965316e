"""Hands tasks to the workers of a cluster, a few at a time, and takes back what they came to.

Each batch goes to one worker by name, so that what was in flight on a lost worker is known: it is
given to another one. Dask itself tries nothing again.
"""

import contextlib
import itertools
import queue
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from distributed import Client, Future

from grader.cluster.tasks import Done, GivenUp, Task
from grader.errors import InternalError

_DEPTH = 2  # batches that a worker has: one that it works on, and the next
_LOSSES = 3  # workers that may be lost over one task that each had alone
_FAULTS = 2  # tries of a task that ends in a fault of our own
_BATCH_SECONDS = 15.0  # that a batch should take
_BATCH = 64  # tasks in a batch, at most
_SHARE = 3  # batches a worker, at least, of what is still to come
_FETCH_SECONDS = 60.0  # that a result may take from worker to head
_LOOK = 1.0  # seconds between two looks at which workers there are
_SLACK = 60.0  # seconds that a batch may take beside its tasks


@dataclass(eq=False)
class _Batch:
    """Tasks that one worker was given together."""

    tasks: list[Task]
    address: str
    alone: bool  # so that it is known what took the worker down, if it goes down
    future: "Future[Any] | None" = None
    begun: float = 0.0  # when it was the first of those that its worker had
    ended: bool = False  # on its worker; what it came to may still be lost with that


@dataclass(eq=False)
class _Worker:
    address: str
    given: list[_Batch] = field(default_factory=list)
    proven: bool = False  # it has done something: what is given to it begins at once

    def end(self, batch: _Batch) -> None:
        """Note that a batch is done, and the next one begun."""
        self.given.remove(batch)
        self.proven, batch.future = True, None
        if self.given:
            self.given[0].begun = time.monotonic()


@dataclass(frozen=True)
class Enlisted:
    """Which of some workers take part, and why others do not."""

    taken: Sequence[str]
    refused: Mapping[str, str]  # reasons by address
    silent: Collection[str] = ()  # of the refused: no answer came, and they are asked again


@dataclass(frozen=True)
class Crew:
    """What is done by whom."""

    work: Callable[..., Mapping[str, Any]]  # called by a worker with `given` and a batch's bytes
    given: tuple[object, ...]
    enlist: Callable[[Sequence[str]], Enlisted]  # called with addresses of new workers
    seconds: float  # that one task may take, at most
    tell: Callable[[str], None] = lambda _: None
    on_workers: Callable[[int], None] = lambda _: None
    patience: float = 60.0  # seconds to wait where there is no worker; infinite with --wait


@dataclass(frozen=True)
class _Answer:
    batch: _Batch
    answer: Mapping[str, Any] | None  # None where it could not be had
    problem: str = ""


class Dispatcher:
    """Maps tasks to what they come to, in no particular order."""

    def __init__(self, client: Client, crew: Crew, total: int) -> None:
        """`total` is how many tasks there may be, at most."""
        self._client = client
        self._crew = crew
        self._left = total
        self._workers: dict[str, _Worker] = {}
        self._others: set[str] = set()  # workers that are refused, or asked just now
        self._silent: set[str] = set()  # workers that gave no answer when asked
        self._again: deque[Task] = deque()
        self._late: list[_Batch] = []  # of workers that do not answer
        self._heard: queue.SimpleQueue[_Answer | Enlisted] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(8)
        self._pace = 0.0  # seconds a task
        self._looked = 0.0
        self._alive = time.monotonic()  # when there was a worker last

    def map(self, tasks: Iterator[Task]) -> Iterator[Done | GivenUp]:
        """Yield what each task comes to, as it comes; raises InternalError where nobody is left."""
        try:
            while self._feed(tasks):
                yield from self._look()
                yield from self._hear()
        finally:
            self._stop()

    def _feed(self, tasks: Iterator[Task]) -> bool:
        """Give each worker what it can take; returns whether anything is still to be done."""
        for worker in self._workers.values():
            while len(worker.given) < _DEPTH and not any(b.alone for b in worker.given):
                batch = self._next_batch(tasks, worker)
                if batch is None:
                    break
                self._give(worker, batch)
        busy = any(worker.given for worker in self._workers.values())
        if busy or self._again:
            return True
        first = next(tasks, None)  # of a class in which nothing is new there is none
        if first is not None:
            self._left -= 1
            self._again.append(first)
        return first is not None

    def _next_batch(self, tasks: Iterator[Task], worker: _Worker) -> _Batch | None:
        """Return what a worker gets next; what has lost a worker goes alone, or waits.

        At the end a worker that has nothing takes over what waits for another one.
        """
        if self._again and not (self._again[0].suspected and self._is_untried(worker)):
            if worker.given and self._again[0].suspected:
                return None
            task = self._again.popleft()
            return _Batch([task], worker.address, alone=task.suspected)
        size = self._size()
        batch = list(itertools.islice(tasks, size))
        self._left -= len(batch)
        if not batch and not worker.given:
            batch = self._take_back()
        return _Batch(batch, worker.address, alone=False) if batch else None

    def _is_untried(self, worker: _Worker) -> bool:
        """Whether others have done something and this one has not: it takes long to begin.

        The longer it has a suspected task, the likelier it is lost for another reason.
        """
        return not worker.proven and any(one.proven for one in self._workers.values())

    def _take_back(self) -> list[Task]:
        """Take from the worker that is longest at a batch the one that waits behind it."""
        waited_for = [worker for worker in self._workers.values() if len(worker.given) > 1]
        if not waited_for:
            return []
        batch = min(waited_for, key=lambda worker: worker.given[0].begun).given.pop()
        _cancel(batch)
        return batch.tasks

    def _size(self) -> int:
        if not self._pace:
            return 1
        share = self._left // (_SHARE * max(1, len(self._workers)))
        return max(1, min(int(_BATCH_SECONDS / self._pace), share, _BATCH))

    def _give(self, worker: _Worker, batch: _Batch) -> None:
        contents = [task.hand_over() for task in batch.tasks]
        batch.future = self._client.submit(
            self._crew.work,
            *self._crew.given,
            contents,
            pure=False,
            workers=[worker.address],
            allow_other_workers=False,
        )
        batch.future.add_done_callback(partial(self._on_done, batch))
        batch.begun = 0.0 if worker.given else time.monotonic()
        worker.given.append(batch)

    def _on_done(self, batch: _Batch, future: "Future[Any]") -> None:
        batch.ended = future.status == "finished"
        self._in_thread(self._fetch, batch)

    def _in_thread(self, action: Callable[..., None], *given: object) -> None:
        with contextlib.suppress(RuntimeError):  # all is over
            self._threads.submit(action, *given)

    def _fetch(self, batch: _Batch) -> None:
        """Bring a result to the head."""
        assert batch.future is not None  # noqa: S101 - it is done
        try:
            self._heard.put(_Answer(batch, batch.future.result(timeout=_FETCH_SECONDS)))
        except Exception as error:  # noqa: BLE001 - of Dask, of the network, or of unpickling
            self._heard.put(_Answer(batch, None, type(error).__name__))

    def _hear(self) -> Iterator[Done | GivenUp]:
        """Take what came, waiting for it a moment."""
        timeout: float | None = _LOOK
        with contextlib.suppress(queue.Empty):
            while True:
                heard = self._heard.get(timeout=timeout) if timeout else self._heard.get_nowait()
                timeout = None
                if isinstance(heard, Enlisted):
                    self._welcome(heard)
                else:
                    yield from self._take(heard)

    def _take(self, heard: _Answer) -> Iterator[Done | GivenUp]:
        batch = heard.batch
        worker = self._workers.get(batch.address)
        if batch in self._late:
            self._late.remove(batch)
            self._others.discard(batch.address)  # it is asked again
        if worker is None or batch not in worker.given:
            return  # it was given up meanwhile, and its tasks to others
        if heard.answer is None:
            suspects = _suspects(worker.given)
            if batch in worker.given:  # its answer may be all that is wrong
                worker.given.remove(batch)
                suspects.append(batch)
            yield from self._lose(worker, suspects)
            return
        worker.end(batch)
        self._note_pace(heard.answer)
        contents = heard.answer["done"]
        for task, content in zip(batch.tasks, contents, strict=False):
            if isinstance(content, bytes):
                yield Done(task, content)
            else:
                yield from self._fault(task, content)
        self._again += batch.tasks[len(contents) :]
        if heard.answer["unready"]:
            self._refuse(worker, heard.answer["unready"])
        elif heard.answer.get("gone"):
            self._again += self._forget(worker)  # it is asked again

    def _note_pace(self, answer: Mapping[str, Any]) -> None:
        if answer["done"] and "seconds" in answer:
            now = answer["seconds"] / len(answer["done"])
            self._pace = now if not self._pace else 0.9 * self._pace + 0.1 * now

    def _fault(self, task: Task, reason: str) -> Iterator[GivenUp]:
        task.faults += 1
        if task.faults < _FAULTS:
            self._again.append(task)
        else:
            yield GivenUp(task, reason)

    def _lose(self, worker: _Worker, suspects: Sequence[_Batch]) -> Iterator[GivenUp]:
        """Give what a lost worker had to others; what lost too many is for a person's eye.

        No batch but the `suspects` can be the reason.
        """
        self._again += self._forget(worker)
        for batch in suspects:
            for task in batch.tasks:
                task.suspected = True
                task.losses += len(batch.tasks) == 1
                if task.losses < _LOSSES:
                    self._again.append(task)
                else:
                    yield GivenUp(task, f"{_LOSSES} workers were lost while they graded it")

    def _refuse(self, worker: _Worker, reason: str) -> None:
        """Leave a worker out that cannot work."""
        self._again += self._forget(worker)
        self._others.add(worker.address)
        self._crew.tell(f"worker {worker.address} is left out: {reason}")

    def _forget(self, worker: _Worker) -> list[Task]:
        """Give a worker nothing more, and return what it had."""
        for batch in worker.given:
            _cancel(batch)
        had = [task for batch in worker.given for task in batch.tasks]
        worker.given.clear()
        self._workers.pop(worker.address, None)
        self._crew.on_workers(len(self._workers))
        return had

    # ---- who is there ---------------------------------------------------------------------------

    def _look(self) -> Iterator[GivenUp]:
        """See which workers came and which are gone, once a second."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        here = set(self._addresses())
        for worker in list(self._workers.values()):
            if worker.address not in here:
                yield from self._lose(worker, _suspects(worker.given))
            elif worker.given and now - worker.given[0].begun > self._longest(worker.given[0]):
                yield from self._give_up_waiting(worker)
        self._others &= here  # an address may be another process's later
        self._silent &= here
        if new := sorted(here - self._workers.keys() - self._others):
            self._others |= set(new)
            self._in_thread(self._enlist, new)
        self._alive = now if self._workers or not self._silent.issuperset(new) else self._alive
        if now - self._alive > self._crew.patience:
            raise InternalError(
                "no worker is left in the cluster; what was graded is kept, and the same command "
                "goes on with the rest"
            )

    def _give_up_waiting(self, worker: _Worker) -> Iterator[GivenUp]:
        """Leave out a worker that hangs, until its answer comes after all."""
        self._others.add(worker.address)
        self._crew.tell(f"worker {worker.address} does not answer, and is left out")
        late, *next_ones = worker.given
        self._late.append(late)
        worker.given = next_ones
        yield from self._lose(worker, [late])

    def _longest(self, batch: _Batch) -> float:
        return len(batch.tasks) * self._crew.seconds + _SLACK

    def _addresses(self) -> list[str]:
        try:
            return list(self._client.nthreads())
        except (OSError, TimeoutError) as error:
            raise InternalError(
                f"the scheduler is gone ({type(error).__name__}); what was graded is kept, and the "
                "same command goes on with the rest"
            ) from None

    def _enlist(self, addresses: Sequence[str]) -> None:
        try:
            self._heard.put(self._crew.enlist(addresses))
        except Exception as error:  # noqa: BLE001 - of Dask or of the network
            reason = f"it cannot be asked ({type(error).__name__})"
            silent = addresses if isinstance(error, OSError) else ()
            self._heard.put(Enlisted((), dict.fromkeys(addresses, reason), silent))

    def _welcome(self, enlisted: Enlisted) -> None:
        for address in enlisted.taken:
            self._others.discard(address)
            self._silent.discard(address)
            self._workers[address] = _Worker(address)
        for address, reason in enlisted.refused.items():
            if address not in self._silent:
                later = "; it is asked again" if address in enlisted.silent else ""
                self._crew.tell(f"worker {address} is left out: {reason}{later}")
        self._silent |= set(enlisted.silent)
        self._others -= set(enlisted.silent)
        self._crew.on_workers(len(self._workers))

    def _stop(self) -> None:
        """Take back what is in flight."""
        for worker in list(self._workers.values()):
            for batch in worker.given:
                _cancel(batch)
        for batch in self._late:
            _cancel(batch)
        self._threads.shutdown(wait=False, cancel_futures=True)


def _suspects(given: list[_Batch]) -> list[_Batch]:
    """Take out what a worker may have gone down over: its first batch that did not end.

    What ended before, but was not fetched yet, goes with it: its answer may be what is unreadable.
    """
    count = next((count for count, batch in enumerate(given, 1) if not batch.ended), len(given))
    suspects, given[:] = given[:count], given[count:]
    for batch in suspects:
        _cancel(batch)
    return suspects


def _cancel(batch: _Batch) -> None:
    if batch.future is not None:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            batch.future.cancel(force=True)
