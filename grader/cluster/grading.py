"""Grades a class by the workers of a cluster: who is taken, what they get, what they return."""

import contextlib
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from distributed import Client

from grader.batch.pool import Lost
from grader.batch.run import BatchRequest, Outcome, Reach
from grader.batch.unit import GradedSubmission, ReadSubmission, Unit, read_unit
from grader.batch.workplace import SplitKeys
from grader.cluster import worker
from grader.cluster.connect import Asked, ask
from grader.cluster.dispatch import Crew, Dispatcher, Enlisted
from grader.cluster.parcel import Parcel, pack, pack_read, unpack_graded
from grader.cluster.tasks import Done, Task
from grader.course.written import libraries_of
from grader.errors import InternalError, UsageError
from grader.execute.isolation import Level
from grader.execute.memory import Admission, need_of_one

_WAIT = 0.5  # seconds between two looks for a first worker
_LEAVE = 10.0  # seconds that workers may take to forget


@dataclass(frozen=True)
class Heard:
    """Who hears what of a run."""

    tell: Callable[[str], None] = lambda _: None  # what an instructor should know
    on_workers: Callable[[int], None] = lambda _: None  # how many grade


class ClusterGraders:
    """Grades by a cluster's workers; the head reads submissions and keeps results."""

    def __init__(self, client: Client, *, wait: bool = False, heard: Heard = Heard()) -> None:
        """`wait` is whether to wait for a first worker, however long."""
        self._client = client
        self._wait = wait
        self._heard = heard

    def reach(self, request: BatchRequest, count: int) -> Reach:  # noqa: ARG002 - asked of all
        """Ask the workers that there are now; raises UsageError where none can grade."""
        asked = self._ask_first(request)
        taken, refused = _sorted_out(asked, request)
        if not taken:
            told = "; ".join(f"{address}: {why}" for address, why in refused.items())
            raise UsageError(f"no worker of the cluster can grade this class: {told}")
        level = min((Level(one.level) for one in taken), key=lambda one: one.rank)
        return Reach(level, Admission(len(taken), None))

    @contextlib.contextmanager
    def grading(
        self,
        request: BatchRequest,
        reach: Reach,  # noqa: ARG002 - workers may have come or gone since
        keys: SplitKeys,
    ) -> Iterator[Callable[[Iterable[Unit]], Iterator[Outcome]]]:
        """Give workers what they need as they come; in the end they forget it."""
        run = f"grade-{secrets.token_hex(8)}"
        parcel = pack(request.folder, keys.public, keys.hidden, trains=request.trains)
        equipment = _Equipment(self._client, request, run, parcel)
        crew = Crew(
            worker.grade,
            (run,),
            equipment.enlist,
            request.folder.course.widest_limits.together_seconds,
            self._heard.tell,
            self._heard.on_workers,
            patience=float("inf") if self._wait else 60.0,
        )
        try:
            yield lambda units: _graded(self._client, crew, request, keys, units)
        finally:
            equipment.over.set()
            self._leave(run)

    def _ask_first(self, request: BatchRequest) -> Sequence[Asked]:
        """Ask all workers; raises UsageError where there is none, or waits for one."""
        while True:
            addresses = list(self._client.nthreads())
            if addresses:
                needed = libraries_of(request.folder.course)
                asked = ask(self._client, addresses, request.isolation, needed)
                gone = self._client.nthreads().keys().isdisjoint(addresses)
                starting = self._wait and all(one.silent for one in asked)
                if not gone and not starting:
                    return asked
            elif not self._wait:
                raise UsageError(
                    "the scheduler has no workers: start some, or say --wait to begin when the "
                    "first one comes"
                )
            time.sleep(_WAIT)

    def _leave(self, run: str) -> None:
        """Have the workers forget all that is not everybody's; wait for none that hangs."""
        still: list[int] = []

        def leave() -> None:
            with contextlib.suppress(Exception):  # whoever is gone has forgotten it
                busy = self._client.run(worker.close, run, on_error="ignore")
                still.append(sum(one is True for one in busy.values()))

        thread = threading.Thread(target=leave, daemon=True)
        thread.start()
        thread.join(_LEAVE)
        if any(still):
            self._heard.tell(f"workers that still end the submission that they have: {still[0]}")


@dataclass(frozen=True)
class _Equipment:
    """What a worker gets before its first submission."""

    client: Client
    request: BatchRequest
    run: str
    parcel: Parcel
    over: threading.Event = field(default_factory=threading.Event)  # the run: it needs nobody more

    def enlist(self, addresses: Sequence[str]) -> Enlisted:
        """Ask some workers what they are, and hand those that fit what they need."""
        needed = libraries_of(self.request.folder.course)
        asked = ask(self.client, addresses, self.request.isolation, needed)
        taken, refused = _sorted_out(asked, self.request)
        done = []
        for one in taken:
            problem = self._hand(one)
            if problem:
                refused[one.address] = problem
            else:
                done.append(one.address)
        return Enlisted(done, refused, {one.address for one in asked if one.silent})

    def _hand(self, one: Asked) -> str:
        """Return why a worker cannot take what it needs, if so."""
        if self.over.is_set():
            return "the run is over"
        parts = {
            digest: None if digest in one.parts else dict(part)
            for digest, part in self.parcel.parts.items()
        }
        answers = self.client.run(
            worker.equip,
            self.run,
            self.parcel.contents.to_json(),
            one.level,
            parts,
            sorted(self.parcel.lasting),
            workers=[one.address],
            on_error="return",
        )
        if self.over.is_set():  # meanwhile: the others have been told to forget it already
            self.client.run(worker.close, self.run, workers=[one.address], on_error="ignore")
        answer = answers.get(one.address, "it is gone")
        return answer if isinstance(answer, str) else type(answer).__name__


def _sorted_out(
    asked: Sequence[Asked], request: BatchRequest
) -> tuple[list[Asked], dict[str, str]]:
    """Return the workers that fit, and why the others do not, by address."""
    need = need_of_one(request.folder.course.widest_limits)
    taken: list[Asked] = []
    refused: dict[str, str] = {}
    for one in asked:
        beside = sum(other.host == one.host for other in taken)
        if one.refused:
            refused[one.address] = one.refused
        elif one.memory and one.memory < need * (beside + 1):
            what = f"{one.memory} MiB of memory there, and one submission may take {need}"
            refused[one.address] = f"{what}; {beside} other workers of {one.host} grade"
        else:
            taken.append(one)
    return taken, refused


def _graded(
    client: Client, crew: Crew, request: BatchRequest, keys: SplitKeys, units: Iterable[Unit]
) -> Iterator[Outcome]:
    """Read units here, have them graded there, and yield what each comes to."""
    reader = _Reader(request, keys.scored.digest, list(units))
    for ended in Dispatcher(client, crew, len(reader.units)).map(reader.tasks()):
        while reader.unchanged:
            yield reader.unchanged.popleft()
        unit = reader.in_flight.pop(ended.task.name)
        if isinstance(ended, Done):
            yield unpack_graded(ended.content)
        else:
            yield Lost(unit, ended.reason)
    if reader.in_flight:
        raise InternalError(f"{len(reader.in_flight)} submissions came back from no worker")
    yield from reader.unchanged


@dataclass(frozen=True)
class _Reader:
    """Reads submissions as workers need them, and knows which are on their way."""

    request: BatchRequest
    key: str  # the digest of the keys that they are graded with
    units: Sequence[Unit]
    unchanged: deque[GradedSubmission] = field(default_factory=deque)
    in_flight: dict[str, Unit] = field(default_factory=dict)  # by student

    def tasks(self) -> Iterator[Task]:
        """Yield what is to be graded."""
        for unit in self.units:
            read = self._read(unit)
            if read.new:
                self.in_flight[read.student] = unit
                yield Task(read.student, pack_read(read), partial(self._packed, unit))
            else:
                self.unchanged.append(_as_it_was(read))

    def _read(self, unit: Unit) -> ReadSubmission:
        course, trains = self.request.folder.course, self.request.trains
        return read_unit(unit, course, self.key, trains=trains)

    def _packed(self, unit: Unit) -> bytes:
        return pack_read(self._read(unit))


def _as_it_was(read: ReadSubmission) -> GradedSubmission:
    """Return what a submission comes to of which nothing is graded again."""
    notes = read.handed.notes
    return GradedSubmission(read.student, notes, {}, {}, frozenset(), read.digests, {}, read.time)
