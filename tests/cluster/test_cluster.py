"""A class graded by a cluster: the same results, whatever happens to workers and to the head."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cluster_work
import pytest
from distributed import Client, LocalCluster
from support import ROOT, TESTS, edited

from grader.batch.entries import Handed
from grader.batch.run import Batch, BatchRequest, run_batch
from grader.batch.unit import ReadSubmission
from grader.cluster import connect, dispatch, grading, worker
from grader.cluster.connect import Asked, connected
from grader.cluster.dispatch import Crew, Dispatcher, Enlisted
from grader.cluster.grading import ClusterGraders, Heard
from grader.cluster.parcel import Contents, pack, pack_read, unpack_read
from grader.cluster.tasks import Done, Task
from grader.course.load import CourseFolder, load_course
from grader.errors import GraderError, InternalError, UsageError
from grader.execute.isolation import probe
from grader.handin.read import Source, Submission
from grader.key.cache import load_keys
from grader.records.calls import HIDDEN, PUBLIC

COURSE = TESTS / "courses" / "statistics"
FIRST, SECOND = "exercise1_columns.py", "exercise2_average.py"
RIGHT = {name: (COURSE / "solutions" / name).read_text("utf-8") for name in (FIRST, SECOND)}
WRONG = edited(RIGHT[FIRST], ("    return standardized\n", "    return standardized * 2\n"))
SECRET = b"x" * 32

pytestmark = pytest.mark.xdist_group("cluster")  # one cluster serves all


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """Start two workers."""
    with connected("local:2") as client:
        yield client


@pytest.fixture(scope="module", autouse=True)
def _own_secret(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    data = tmp_path_factory.mktemp("data")
    secret = data / "grade" / "secrets" / "running-statistics.secret"
    secret.parent.mkdir(parents=True)
    secret.write_bytes(SECRET)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(data))
        yield


@pytest.fixture(scope="module")
def statistics(key_cache: Path) -> CourseFolder:  # noqa: ARG001 - keys are built
    """Read the second course, which is quick to grade."""
    return load_course(COURSE)


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a class of twelve: right, wrong, odd and missing work."""
    place = tmp_path_factory.mktemp("class")
    texts = [RIGHT[FIRST], WRONG, "def broken(:\n", "import os\nos._exit(3)\n"]
    for number in range(12):
        folder = place / f"s{number:02}"
        folder.mkdir()
        (folder / FIRST).write_text(f"{texts[number % 4]}# {number}\n", encoding="utf-8")
        if number % 3:
            (folder / SECOND).write_text(f"print('é\\u0007')\n{RIGHT[SECOND]}", encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def few(handed_in: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a class of the first four of them."""
    place = tmp_path_factory.mktemp("few")
    for folder in sorted(handed_in.iterdir())[:4]:
        shutil.copytree(folder, place / folder.name)
    return place


@pytest.fixture(scope="module")
def alone(
    handed_in: Path, statistics: CourseFolder, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Grade the class on one machine."""
    results = tmp_path_factory.mktemp("alone") / "results"
    run_batch(request_for(statistics, handed_in, results))
    return kept(results)


def request_for(course: CourseFolder, submissions: Path, results: Path) -> BatchRequest:
    """Return the request to grade all of a class."""
    return BatchRequest(course, course.course.exercises, submissions, results, jobs=2)


def batch(client: Client, request: BatchRequest, told: list[str] | None = None) -> Batch:
    """Grade a class by a cluster."""
    heard = Heard((told if told is not None else []).append)
    return run_batch(request, graders=ClusterGraders(client, heard=heard))


def kept(results: Path) -> dict[str, Any]:
    """Return all that is kept of a class: each student's bytes, and the rows of the database."""
    files = {path.name: path.read_bytes() for path in sorted((results / "students").iterdir())}
    with closing(sqlite3.connect(results / "results.sqlite")) as database:
        for table in ("results", "shown", "students"):
            files[table] = sorted(map(repr, database.execute(f"SELECT * FROM {table}")))  # type: ignore[assignment]
    return files


def assert_same(found: dict[str, Any], whole: dict[str, Any]) -> None:
    """Compare the files of the first four with those of all."""
    files = {name: content for name, content in found.items() if name.endswith(".json")}
    assert len(files) == 4
    assert files == {name: whole[name] for name in files}


def workers(client: Client) -> dict[str, int]:
    """Return the process of each worker by its address."""
    return dict(client.run(cluster_work.pid))


def closed_files(client: Client) -> list[str]:
    """Return the files of hidden cases that workers have."""
    found = client.run(cluster_work.what_is_kept).values()
    return [name for names in found for name in names if HIDDEN in name]


def wait_until(true: Any) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + 300  # a net for hangs
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


# ---- the same results ----------------------------------------------------------------------------


def test_results_are_those_of_one_machine(
    client: Client, handed_in: Path, statistics: CourseFolder, alone: Any, tmp_path: Path
) -> None:
    done = batch(client, request_for(statistics, handed_in, tmp_path / "r"))
    assert (done.graded, done.unchanged) == (12, 0)
    assert kept(tmp_path / "r") == alone
    (tmp_path / "r" / "students" / "s03.json").unlink()
    done = batch(client, request_for(statistics, handed_in, tmp_path / "r"))
    assert (done.graded, done.unchanged) == (1, 11)
    assert kept(tmp_path / "r") == alone


def test_results_are_the_same_where_a_worker_is_killed(
    client: Client, handed_in: Path, statistics: CourseFolder, alone: Any, tmp_path: Path
) -> None:
    victim = next(iter(workers(client).values()))
    request = request_for(statistics, handed_in, tmp_path / "r")
    seen: list[str] = []

    def advance(student: str) -> None:
        seen.append(student)
        if len(seen) == 2:
            os.kill(victim, signal.SIGKILL)

    run_batch(request, advance=advance, graders=ClusterGraders(client))
    assert len(seen) == len(set(seen)) == 12
    assert kept(tmp_path / "r") == alone
    wait_until(lambda: len(client.nthreads()) == 2)


@pytest.mark.long
def test_a_head_that_is_killed_goes_on(
    client: Client, handed_in: Path, alone: Any, tmp_path: Path
) -> None:
    script = Path(sys.executable).with_name("grade")
    address = str(client.scheduler_info()["address"])
    command = [script, "batch", handed_in, "-o", tmp_path / "r", "--scheduler", address]
    run = partial(subprocess.Popen, cwd=COURSE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    students = tmp_path / "r" / "students"
    with run([*map(str, command)]) as first:
        wait_until(lambda: students.is_dir() and len(list(students.glob("s*.json"))) >= 2)
        first.send_signal(signal.SIGKILL)
    with run([*map(str, command)]) as second:
        _, told = second.communicate(timeout=300)
    assert second.returncode == 0, told
    assert kept(tmp_path / "r") == alone
    client.run(cluster_work.forget_all)  # what the killed one left


@pytest.mark.long
def test_interrupted_run_leaves_the_cluster_as_it_was(
    client: Client, few: Path, statistics: CourseFolder, tmp_path: Path
) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    request = request_for(statistics, few, tmp_path / "r")
    with pytest.raises(KeyboardInterrupt):
        run_batch(request, advance=interrupt, graders=ClusterGraders(client))
    wait_until(lambda: not any(client.processing().values()))
    wait_until(lambda: not any(client.has_what().values()))
    wait_until(lambda: not closed_files(client))


def test_worker_that_comes_when_all_is_over_keeps_nothing(
    client: Client, statistics: CourseFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others have been told to forget it by then."""
    ids = [exercise.id for exercise in statistics.course.exercises]
    hidden = load_keys(statistics, ids, HIDDEN, secret=SECRET)
    parcel = pack(statistics, load_keys(statistics, ids, PUBLIC), hidden)
    request = request_for(statistics, tmp_path, tmp_path / "r")
    equipment = grading._Equipment(client, request, "late", parcel)  # noqa: SLF001 - its moment
    run = client.run

    def run_and_end(function: Any, *given: Any, **options: Any) -> Any:
        answers = run(function, *given, **options)
        if function is worker.equip:
            assert closed_files(client)
            equipment.over.set()
        return answers

    monkeypatch.setattr(client, "run", run_and_end)
    equipment.enlist(list(client.nthreads()))
    assert not closed_files(client)


# ---- what crosses --------------------------------------------------------------------------------


def test_dask_keeps_few_of_the_messages_that_hold_submissions(client: Client) -> None:
    told = client.scheduler_comm
    assert told is not None
    assert told.recent_message_log.maxlen == 10


def test_only_plain_data_crosses(
    client: Client,
    few: Path,
    statistics: CourseFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unpickling it runs nothing that a submission chose."""
    sent: list[Any] = []
    came: list[Any] = []
    submit, take = client.submit, Dispatcher._take  # noqa: SLF001 - all that comes goes by there

    def spy(function: Any, *given: Any, **options: Any) -> Any:
        sent.append(given)
        return submit(function, *given, **options)

    def watch(self: Dispatcher, heard: Any) -> Any:
        if heard.answer is not None:  # the head's own word for a batch that it took back
            came.append(heard.answer)
        return take(self, heard)

    monkeypatch.setattr(client, "submit", spy)
    monkeypatch.setattr(Dispatcher, "_take", watch)
    batch(client, request_for(statistics, few, tmp_path / "r"))
    assert sent
    assert came
    for one in (*sent, *came):
        assert _types_of(one) <= {str, bytes, int, float, bool, list, tuple, dict}
    wait_until(lambda: not closed_files(client))
    kept_files = client.run(cluster_work.what_is_kept)  # which the next run need not send
    assert any(PUBLIC in name for names in kept_files.values() for name in names)


def _types_of(one: Any) -> set[type]:
    inside: list[Any] = []
    if isinstance(one, list | tuple):
        inside = list(one)
    elif isinstance(one, dict):
        inside = [*one, *one.values()]
    return {type(one)}.union(*map(_types_of, inside))


def test_secret_and_solutions_stay_at_the_head(statistics: CourseFolder) -> None:
    ids = [exercise.id for exercise in statistics.course.exercises]
    hidden = load_keys(statistics, ids, HIDDEN, secret=SECRET)
    parcel = pack(statistics, load_keys(statistics, ids, PUBLIC), hidden)
    text = b"".join(data for part in parcel.parts.values() for data in part.values())
    assert SECRET not in text
    assert b"BEGIN SOLUTION" not in text
    kept_parts = [parcel.parts[digest] for digest in parcel.lasting]
    assert not [name for part in kept_parts for name in part if HIDDEN in name]


def test_submission_survives_being_sent() -> None:
    sources = {"exercise1": Source("a.py", (("a.py", "x = '\ud800\u202e\\0'\n"),), notes=("n",))}
    handed = Handed(Submission(sources, ("about",)), ("note",))
    read = ReadSubmission("ada", handed, {"exercise1": "d"}, ("exercise1",), "2026-11-01")
    assert unpack_read(pack_read(read)) == read


def test_keys_are_forgotten_where_the_head_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_IDLE", 0.2)
    monkeypatch.setattr(worker, "_kept", {})
    contents = Contents(("exercise1",), "public", "hidden").to_json()
    part = {f"exercise1.{HIDDEN}.json": b"{}"}
    assert worker.equip("run", contents, "landlock", {"digest": part}, ()) == ""
    assert cluster_work.what_is_kept() == [*part]
    wait_until(lambda: not cluster_work.what_is_kept())
    assert worker.grade("run", [b""])["gone"]


def test_next_run_ends_the_warm_process_of_one_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heads that were killed one after the other each left a process on each worker."""
    ended: list[str] = []
    warm = SimpleNamespace(close=lambda: ended.append("warm"))

    def opened(place: Any) -> Any:
        place.engine = SimpleNamespace(warm=warm)
        return place.engine

    monkeypatch.setattr(worker, "_opened", opened)
    monkeypatch.setattr(worker, "unpack_read", lambda packed: packed)
    monkeypatch.setattr(worker, "grade_read", lambda _, read: read)
    monkeypatch.setattr(worker, "pack_graded", lambda graded: graded)
    contents = Contents(("exercise1",), "public", "hidden").to_json()
    assert worker.equip("waits", contents, "landlock", {}, ()) == ""
    assert worker.grade("waits", [b"work"])["done"] == [b"work"]
    assert ended == []
    assert worker.equip("new", contents, "landlock", {}, ()) == ""
    assert ended == ["warm"]
    assert worker.grade("waits", [b"more"])["done"] == [b"more"]  # by another one
    worker.close("waits")
    worker.close("new")


def test_course_that_changes_meanwhile_is_an_error(
    client: Client,
    few: Path,
    statistics: CourseFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("grader.cluster.parcel.content_digest", lambda *_: "another")
    request = request_for(statistics, few, tmp_path / "r")
    with pytest.raises(InternalError, match="the course was changed while"):
        batch(client, request)


# ---- who is taken --------------------------------------------------------------------------------


def test_workers_of_another_version_are_refused_by_name(
    client: Client,
    few: Path,
    statistics: CourseFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = {**worker.versions(), "torch": "9.9"}
    monkeypatch.setattr(worker, "versions", lambda: other)
    with pytest.raises(UsageError) as raised:
        batch(client, request_for(statistics, few, tmp_path / "r"))
    for address in client.nthreads():
        assert f"{address}: it has other versions: torch " in str(raised.value)
    assert ", here 9.9" in str(raised.value)


def test_worker_without_grader_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "_IMPORT", "import grader.of_another_version")
    asked = connect.ask(client, list(client.nthreads()), None)
    assert all("is not installed there" in one.refused for one in asked)


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (cluster_work.be_without_walls, "at level process, not landlock"),
        (cluster_work.fill_disk, "No space left on device"),
    ],
)
def test_worker_that_cannot_grade_is_left_out_by_name(
    change: Any,
    said: str,
    client: Client,
    few: Path,
    statistics: CourseFolder,
    alone: Any,
    tmp_path: Path,
) -> None:
    one = next(iter(workers(client)))
    client.run(change, workers=[one])
    told: list[str] = []
    try:
        batch(client, request_for(statistics, few, tmp_path / "r"), told)
    finally:
        client.run(cluster_work.be_as_before, workers=[one])
    assert any(one in line and said in line for line in told)
    assert_same(kept(tmp_path / "r"), alone)


@pytest.mark.long
def test_doctor_tells_what_each_worker_is(client: Client) -> None:
    address = str(client.scheduler_info()["address"])
    script = Path(sys.executable).with_name("grade")
    command = [str(script), "doctor", "--scheduler", address, "--json"]
    shown = subprocess.run(command, capture_output=True, check=True, timeout=300)
    found = json.loads(shown.stdout)["workers"]
    assert {one["address"] for one in found} == set(client.nthreads())
    for one in found:
        assert one["versions"] == worker.versions()
        assert one["level"] == probe().level
        assert 0 < one["submission_seconds"] < one["start_seconds"]
        assert not one["refused"]


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheduler", "said"),
    [
        ("tcp://127.0.0.1:9", "no scheduler answers at tcp://127.0.0.1:9"),
        ("nowhere.json", "nowhere.json: No such file"),
        (str(ROOT / "pyproject.toml"), "not a scheduler file"),
        ("local:none", "give a number of processes"),
        ("http://127.0.0.1:9", "no scheduler answers at http://127.0.0.1:9"),
    ],
)
def test_scheduler_that_is_not_there(
    scheduler: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "_SECONDS", 1)
    with pytest.raises(GraderError, match=said), connected(scheduler):
        pytest.fail("it is there")


@pytest.mark.long
def test_scheduler_without_workers_says_so_or_waits(
    few: Path, statistics: CourseFolder, alone: Any, tmp_path: Path
) -> None:
    request = request_for(statistics, few, tmp_path / "r")
    given = {"n_workers": 0, "threads_per_worker": 1, "processes": False}
    with LocalCluster(**given, dashboard_address=None) as cluster, Client(cluster) as client:
        with pytest.raises(UsageError, match="has no workers"):
            run_batch(request, graders=ClusterGraders(client))
        late = threading.Timer(1, cluster.scale, (1,))
        late.start()
        run_batch(request, graders=ClusterGraders(client, wait=True))
        late.join()
    assert_same(kept(tmp_path / "r"), alone)


def test_workers_that_are_lost_while_they_are_asked_are_not_the_last_word(
    statistics: CourseFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Changing:
        moments = iter([{"one": 1}, {"two": 1}, {"two": 1}, {"two": 1}])

        def nthreads(self) -> dict[str, int]:
            return next(self.moments)

    def ask(_: object, addresses: list[str], *__: object) -> list[Asked]:
        return [Asked(address, level=str(probe().level)) for address in addresses]

    monkeypatch.setattr(grading, "ask", ask)
    request = request_for(statistics, tmp_path, tmp_path / "r")
    graders = ClusterGraders(Changing())  # type: ignore[arg-type]
    assert [one.address for one in graders._ask_first(request)] == ["two"]  # noqa: SLF001 - alone


# ---- tasks and workers ---------------------------------------------------------------------------


def dispatched(
    client: Client, log: Path, contents: list[bytes], seconds: float = 60.0
) -> tuple[list[bytes], dict[str, str], list[str]]:
    """Return what was done, what was given up and why, and what was told."""
    told: list[str] = []
    crew = Crew(
        cluster_work.fragile,
        (str(log),),
        lambda addresses: Enlisted(addresses, {}),
        seconds,
        told.append,
    )
    tasks = (Task(content.decode(), content, partial(bytes, content)) for content in contents)
    ended = list(Dispatcher(client, crew, len(contents)).map(tasks))
    done = [one.content for one in ended if isinstance(one, Done)]
    given_up = {one.task.name: one.reason for one in ended if not isinstance(one, Done)}
    return sorted(done), given_up, told


@pytest.mark.long
def test_task_that_takes_three_workers_down_is_set_aside(client: Client, tmp_path: Path) -> None:
    contents = [b"%02d" % number for number in range(30)] + [b"kill", b"once", b"fault"]
    done, given_up, _ = dispatched(client, tmp_path / "log", contents)
    assert done == sorted(2 * content for content in [*contents[:30], b"once"])
    assert given_up == {"kill": "3 workers were lost while they graded it", "fault": "broken"}
    assert (tmp_path / "log").read_text().split().count("kill") == 3
    wait_until(lambda: len(client.nthreads()) == 2)


@pytest.mark.long
def test_worker_that_hangs_loses_nothing(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_SLACK", 3.0)
    contents = [b"hang", *(b"%02d" % number for number in range(20))]
    done, given_up, told = dispatched(client, tmp_path / "log", contents, seconds=0.5)
    assert done == sorted(2 * content for content in contents)
    assert not given_up
    assert len(told) == 1
    assert "does not answer" in told[0]
