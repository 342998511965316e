"""Tasks given to workers and taken back, with threads in place of a cluster."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from grader.cluster import dispatch
from grader.cluster.dispatch import Crew, Dispatcher, Enlisted
from grader.cluster.tasks import Done, GivenUp, Task
from grader.errors import InternalError

SECONDS = 30.0  # a net for hangs


class Taken(Future[Any]):
    """A future that can be cancelled as Dask's, and tells how it ended as Dask's."""

    status = "finished"

    def cancel(self, *, force: bool = False) -> bool:
        return force and super().cancel()


class Threads:
    """A client of workers that are a thread each."""

    def __init__(self, *addresses: str) -> None:
        self.here = {address: ThreadPoolExecutor(1) for address in addresses}
        self.submitted = threading.Semaphore(0)

    def nthreads(self) -> Mapping[str, int]:
        return dict.fromkeys(self.here, 1)

    def submit(
        self, work: Callable[..., Any], *given: Any, workers: Sequence[str], **_: Any
    ) -> Taken:
        future = Taken()
        self.here[workers[0]].submit(_do, future, work, *given)
        self.submitted.release()
        return future


def _do(future: Taken, work: Callable[..., Any], *given: Any) -> None:
    if future.set_running_or_notify_cancel():
        future.set_result(work(*given))


def task_of(name: str) -> Task:
    """Return a task whose bytes are its name."""
    return Task(name, name.encode(), name.encode)


def everybody(addresses: Sequence[str]) -> Enlisted:
    """Take all workers."""
    return Enlisted(addresses, {})


def dispatched(
    client: "Threads | Fragile",
    work: Callable[[bytes], None],
    tasks: Sequence[Task],
    enlist: Callable[[Sequence[str]], Enlisted] = everybody,
    **told: Any,
) -> list[Done | GivenUp]:
    """Return what tasks come to, each given alone."""

    def do(contents: Sequence[bytes]) -> Mapping[str, Any]:
        for content in contents:
            work(content)
        return {"done": list(contents), "unready": ""}  # of no pace: one is given at a time

    crew = Crew(do, (), enlist, SECONDS, **told)
    return list(Dispatcher(client, crew, len(tasks)).map(iter(tasks)))  # type: ignore[arg-type]


def test_what_waits_behind_a_long_task_goes_to_who_has_nothing() -> None:
    others, done = threading.Semaphore(0), []

    def work(content: bytes) -> None:
        if content == b"long":
            for _ in range(4):
                assert others.acquire(timeout=SECONDS)
        else:
            others.release()
        done.append(content)

    tasks = [task_of(name) for name in ("long", "a", "b", "c", "d")]
    ended = dispatched(Threads("one", "two"), work, tasks)
    assert {one.task.name for one in ended if isinstance(one, Done)} == {t.name for t in tasks}
    assert sorted(done) == [b"a", b"b", b"c", b"d", b"long"]  # nothing was done twice
    assert done[-1] == b"long"


def test_only_what_a_lost_worker_was_at_is_suspected() -> None:
    client, hung = Threads("one"), threading.Event()

    def work(content: bytes) -> None:
        if content == b"first" and not hung.is_set():
            hung.set()
            for _ in tasks:
                assert client.submitted.acquire(timeout=SECONDS)  # the second one waits here, too
            lost = client.here.pop("one")
            client.here["two"] = ThreadPoolExecutor(1)
            lost.shutdown(wait=False)
            assert again.wait(SECONDS)
        elif content == b"second":
            again.set()

    again = threading.Event()
    tasks = [task_of("first"), task_of("second")]
    ended = dispatched(client, work, tasks)
    assert sorted(one.task.name for one in ended if isinstance(one, Done)) == ["first", "second"]
    assert [task.losses for task in tasks] == [1, 0]


def test_tasks_of_a_lost_batch_go_alone_and_are_not_blamed_for_it() -> None:
    client, hung, again = Threads("one"), threading.Event(), threading.Event()
    alone: list[int] = []

    def do(contents: Sequence[bytes]) -> Mapping[str, Any]:
        if hung.is_set():
            alone.append(len(contents))
            again.set()
        elif len(contents) > 1:
            for _ in range(4):
                assert client.submitted.acquire(timeout=SECONDS)  # the next batch waits here, too
            hung.set()
            lost = client.here.pop("one")
            client.here["two"] = ThreadPoolExecutor(1)
            lost.shutdown(wait=False)
            assert again.wait(SECONDS)
        return {"done": list(contents), "unready": "", "seconds": 0.001}

    tasks = [task_of(f"{number:02}") for number in range(30)]
    crew = Crew(do, (), everybody, SECONDS)
    ended = list(Dispatcher(client, crew, len(tasks)).map(iter(tasks)))  # type: ignore[arg-type]
    assert sorted(one.task.name for one in ended) == [task.name for task in tasks]
    suspected = [task for task in tasks if task.suspected]
    assert len(suspected) > 1
    assert {task.losses for task in suspected} == {0}
    assert alone[: len(suspected)] == [1] * len(suspected)


class Fragile:
    """A client with one worker, which is lost over `kill`, with what it has not handed over."""

    def __init__(self) -> None:
        self.submitted: list[bytes] = []
        self.first: Ended | None = None

    def nthreads(self) -> dict[str, int]:
        return {"one": 1}

    def submit(self, *given: Any, **_: object) -> "Ended":
        (content,) = given[-1]
        self.submitted.append(content)
        ended = Ended(self, content)
        self.first = self.first or ended
        return ended


@dataclass
class Ended:
    """What comes of a task; of the first one nothing is heard before the worker is lost."""

    client: Fragile
    content: bytes
    tell: Callable[["Ended"], None] = lambda _: None

    @property
    def status(self) -> str:
        return "error" if self.content == b"kill" else "finished"

    def add_done_callback(self, tell: Callable[["Ended"], None]) -> None:
        self.tell = tell
        first = self.client.first
        if first is not None and self.client.submitted[1:] == [b"kill"]:
            first.tell(first)
        if self is not first:
            tell(self)

    def result(self, timeout: float) -> dict[str, Any]:
        assert timeout
        if self.content == b"kill" or self is self.client.first:
            raise OSError
        return {"done": [self.content * 2], "unready": ""}

    def cancel(self, *, force: bool) -> None:
        assert force


def test_task_is_blamed_where_one_before_it_was_done_but_is_lost_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatch, "_LOOK", 0.01)
    client = Fragile()
    ended = dispatched(client, lambda _: None, [task_of(name) for name in ("a", "kill", "b")])
    done = sorted(one.content for one in ended if isinstance(one, Done))
    given_up = {one.task.name: one.reason for one in ended if isinstance(one, GivenUp)}
    assert done == [b"aa", b"bb"]
    assert given_up == {"kill": "3 workers were lost while they graded it"}
    assert client.submitted.count(b"kill") == 3


def test_head_holds_no_bytes_that_a_worker_has() -> None:
    held = []
    tasks: list[Task] = []
    tasks += [Task(name, name.encode(), partial(bytes, name, "utf-8")) for name in "abc"]
    dispatched(Threads("one"), lambda _: held.append([t.content for t in tasks]), tasks)
    assert held[-1] == [b"", b"", b""]
    assert tasks[0].hand_over() == b"a"  # made again


def test_worker_that_gave_no_answer_is_asked_again() -> None:
    asked: list[str] = []
    told: list[str] = []

    def enlist(addresses: Sequence[str]) -> Enlisted:
        asked.extend(addresses)
        late = set() if len(asked) > 2 else set(addresses)
        return Enlisted(sorted(set(addresses) - late), dict.fromkeys(late, "no answer"), late)

    ended = dispatched(Threads("one"), lambda _: None, [task_of("a")], enlist, tell=told.append)
    assert [type(one) for one in ended] == [Done]
    assert asked == ["one"] * 3
    assert told == ["worker one is left out: no answer; it is asked again"]  # once


def test_head_ends_where_no_worker_ever_answers() -> None:
    def enlist(addresses: Sequence[str]) -> Enlisted:
        return Enlisted((), dict.fromkeys(addresses, "no answer"), addresses)

    with pytest.raises(InternalError, match="no worker is left"):
        dispatched(Threads("one"), lambda _: None, [task_of("a")], enlist, patience=1.5)
