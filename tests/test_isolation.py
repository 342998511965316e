"""The walls by themselves: Landlock, seccomp, bubblewrap; which is chosen, and what refuses."""

import ctypes
import errno
import json
import os
import platform
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import ROOT, RunGrade

from grader.cli.doctor import as_text
from grader.course.load import CourseFolder
from grader.errors import InternalError, UsageError
from grader.execute import isolation
from grader.execute.answers import AnswerStatus
from grader.execute.isolation import Isolation, Level, Wall, probe
from grader.execute.launch import WarmProcess
from grader.execute.session import Job, collect
from grader.plan.records import Call
from grader.worker import landlock, lockdown, places, seccomp

HERE = probe().level
locked = pytest.mark.skipif(HERE is Level.PROCESS, reason="no Landlock or seccomp here")


def in_a_child(act: Callable[[], object]) -> str:
    """Return the name of the error that `act` ends in, in a process of its own; "" for none."""
    told, telling = os.pipe()
    pid = os.fork()
    if not pid:
        word = ""
        try:
            act()
        except OSError as error:
            word = errno.errorcode.get(error.errno or 0, str(error))
        except BaseException as error:  # noqa: BLE001 - a child tells all
            word = repr(error)
        os.write(telling, word.encode())
        os._exit(0)
    os.close(telling)
    with os.fdopen(told) as words:
        word = words.read()
    _, status = os.waitpid(pid, 0)
    return word if status == 0 else f"status {status}"


# ---- Landlock ----------------------------------------------------------------------------------


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name in ("open/file", "closed/file"):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text("text", encoding="utf-8")
    return tmp_path


@locked
@pytest.mark.parametrize(
    ("act", "ends_in"),
    [
        (lambda f: (f / "open/file").read_text(), ""),
        (lambda f: os.listdir(f / "open"), ""),
        (lambda f: (f / "closed/file").read_text(), "EACCES"),
        (lambda f: os.listdir(f), "EACCES"),
        (lambda f: (f / "open/file").write_text("x"), "EACCES"),
        (lambda f: os.truncate(f / "open/file", 0), "EACCES"),
        (lambda f: (f / "open/new").touch(), "EACCES"),
        (lambda f: (f / "open/file").unlink(), "EACCES"),
        (lambda f: os.mkdir(f / "open/new"), "EACCES"),
        (lambda f: os.symlink("x", f / "open/new"), "EACCES"),
        (lambda f: os.link(f / "open/file", f / "open/new"), "EACCES"),
        (lambda f: os.rename(f / "open/file", f / "open/new"), "EACCES"),
        (lambda _: os.execv(sys.executable, ["python", "-c", ""]), "EACCES"),
        (lambda _: Path(os.devnull).write_text("x"), ""),
    ],
    ids=[
        "reads", "lists", "reads elsewhere", "lists elsewhere", "writes", "truncates", "creates",
        "removes", "makes a folder", "makes a link", "makes a hard link", "renames", "runs",
        "writes to null",
    ],
)  # fmt: skip
def test_landlock_leaves_reading_and_nothing_else(
    act: Callable[[Path], object], ends_in: str, folders: Path
) -> None:
    def locked_act() -> None:
        landlock.restrict(landlock.make_ruleset([str(folders / "open")], [os.devnull]))
        act(folders)

    assert in_a_child(locked_act) == ends_in


@pytest.mark.skipif(landlock.version() < 4, reason="Landlock of this kernel leaves TCP alone")
def test_landlock_forbids_tcp() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def connect() -> None:
            landlock.restrict(landlock.make_ruleset([], []))
            socket.create_connection(server.getsockname())

        assert in_a_child(connect) == "EACCES"


@pytest.mark.skipif(landlock.version() < 6, reason="Landlock of this kernel leaves signals alone")
def test_landlock_forbids_signals_to_others() -> None:
    def signal() -> None:
        landlock.restrict(landlock.make_ruleset([], []))
        os.kill(os.getppid(), 0)

    assert in_a_child(signal) == "EPERM"


@pytest.mark.parametrize(
    ("version", "last"), [(1, 12), (2, 13), (3, 14), (4, 14), (5, 15), (7, 15), (99, 15)]
)
def test_landlock_withholds_what_a_version_knows(version: int, last: int) -> None:
    assert landlock.handled_rights(version) == (1 << last + 1) - 1


# ---- seccomp -----------------------------------------------------------------------------------


def _filtered(act: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        seccomp.Filter.make().install(os.getpid())
        act()

    return run


def _thread() -> None:
    import threading

    seen: list[int] = []
    thread = threading.Thread(target=seen.append, args=(1,))
    thread.start()
    thread.join()
    assert seen == [1]


def _call(name: str, *arguments: int) -> Callable[[], None]:
    """Make a system call by its number on x86_64; the result is an error or nothing."""
    number = {
        "io_uring_setup": 425, "ptrace": 101, "process_vm_readv": 310, "bpf": 321, "unshare": 272,
        "setns": 308, "mount": 165, "pivot_root": 155, "chroot": 161, "keyctl": 250, "add_key": 248,
        "userfaultfd": 323, "perf_event_open": 298, "kcmp": 312, "pidfd_open": 434,
        "pidfd_getfd": 438, "memfd_create": 319, "shmget": 29, "semget": 64, "msgget": 68,
        "mq_open": 240, "personality": 135, "clone": 56, "clone3": 435, "vfork": 58, "mlock": 149,
        "tkill": 200, "rt_sigqueueinfo": 129, "setuid": 105, "capset": 126,
        "open_by_handle_at": 304, "inotify_init": 253, "fanotify_init": 300, "prctl": 157,
        "seccomp": 317, "setpriority": 141, "sched_setaffinity": 203, "execveat": 322, "mmap": 9,
        "ioctl": 16, "socketpair": 53,
    }[name]  # fmt: skip

    def act() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments]) == -1:
            raise OSError(ctypes.get_errno(), name)

    return act


ALLOWED: dict[str, Callable[[], object]] = {
    "a thread": _thread,
    "reading": lambda: Path(__file__).read_bytes(),
    "a pipe": os.pipe,
    "a signal to itself": lambda: os.kill(os.getpid(), 0),
    "its limits": lambda: __import__("resource").getrlimit(0),
    "a look at a terminal": lambda: os.isatty(0),
    "sleep": lambda: __import__("time").sleep(0.001),
    "random bytes": lambda: os.urandom(8),
    "memory": lambda: bytearray(1 << 24),
}
REFUSED: dict[str, Callable[[], object]] = {
    "fork": os.fork,
    "run": lambda: os.execv(sys.executable, ["python", "-c", ""]),
    "spawn": lambda: os.posix_spawn(sys.executable, ["python"], {}),
    "any socket": lambda: socket.socket(socket.AF_UNIX),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "signal another": lambda: os.kill(os.getppid(), 0),
    "signal its group": lambda: os.kill(0, 0),
    "signal all": lambda: os.kill(-1, 0),
    "chmod": lambda: os.chmod(__file__, 0o644),
    "utime": lambda: os.utime(__file__),
    "shared memory": lambda: __import__("mmap").mmap(-1, 4096),
    "another's limits": lambda: __import__("resource").prlimit(os.getppid(), 0),
    "a lock": lambda: __import__("fcntl").flock(0, 1),
    "a new session": os.setsid,
}
REFUSED_CALLS = {
    "io_uring": _call("io_uring_setup", 1, 0), "ptrace": _call("ptrace", 0),
    "process_vm_readv": _call("process_vm_readv"), "bpf": _call("bpf"),
    "unshare": _call("unshare", 0x10000000), "setns": _call("setns"), "mount": _call("mount"),
    "pivot_root": _call("pivot_root"), "chroot": _call("chroot"), "keyctl": _call("keyctl"),
    "add_key": _call("add_key"), "userfaultfd": _call("userfaultfd"),
    "perf_event_open": _call("perf_event_open"), "kcmp": _call("kcmp"),
    "pidfd_open": _call("pidfd_open"), "pidfd_getfd": _call("pidfd_getfd"),
    "memfd_create": _call("memfd_create"), "shmget": _call("shmget"), "semget": _call("semget"),
    "msgget": _call("msgget"), "mq_open": _call("mq_open"), "personality": _call("personality"),
    "clone of a process": _call("clone", 17), "vfork": _call("vfork"), "mlock": _call("mlock"),
    "clone into a namespace": _call("clone", 0x10000000 | 0x3D0F00), "tkill": _call("tkill"),
    "queue a signal": _call("rt_sigqueueinfo"), "setuid": _call("setuid"),
    "capset": _call("capset"), "open_by_handle_at": _call("open_by_handle_at"),
    "inotify": _call("inotify_init"), "fanotify": _call("fanotify_init"),
    "prctl": _call("prctl", 4, 1), "seccomp": _call("seccomp", 1),
    "setpriority": _call("setpriority"),
    "sched_setaffinity": _call("sched_setaffinity"), "execveat": _call("execveat"),
    "memory that grows down": _call("mmap", 0, 4096, 3, 0x122, -1, 0),
    "huge pages": _call("mmap", 0, 1 << 21, 3, 0x40022, -1, 0),
    "typing into a terminal": _call("ioctl", 0, 0x5412, 0), "socketpair": _call("socketpair"),
}  # fmt: skip


@locked
@pytest.mark.parametrize("act", ALLOWED.values(), ids=list(ALLOWED))
def test_filter_allows(act: Callable[[], object]) -> None:
    assert in_a_child(_filtered(act)) == ""


@locked
@pytest.mark.parametrize("act", REFUSED.values(), ids=list(REFUSED))
def test_filter_refuses(act: Callable[[], object]) -> None:
    assert in_a_child(_filtered(act)) == "EPERM"


@locked
@pytest.mark.skipif(platform.machine() != "x86_64", reason="these numbers are those of x86_64")
@pytest.mark.parametrize("act", REFUSED_CALLS.values(), ids=list(REFUSED_CALLS))
def test_filter_refuses_the_call(act: Callable[[], object]) -> None:
    assert in_a_child(_filtered(act)) == "EPERM"


@locked
@pytest.mark.skipif(platform.machine() != "x86_64", reason="x32 is a part of x86_64")
def test_filter_kills_calls_of_the_second_set() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    x32_getpid = 0x40000000 + 39
    assert in_a_child(_filtered(lambda: libc.syscall(ctypes.c_long(x32_getpid)))) == "status 31"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_is_a_program_that_ends_on_every_path(machine: str) -> None:
    program = seccomp.make_filter(4711, machine)
    code = [program[at : at + 8] for at in range(0, len(program), 8)]
    assert 100 < len(code) < 4096
    for at, instruction in enumerate(code):
        kind, then, otherwise = instruction[0], instruction[2], instruction[3]
        if kind & 0x07 == 0x05:  # a jump stays inside
            assert at + 1 + max(then, otherwise) < len(code)
    assert code[-1][0] == 0x06


# ---- places ------------------------------------------------------------------------------------


def test_places_hold_torch_and_no_answer() -> None:
    import torch

    open_to = [Path(path) for path in places.readable()]

    def reached(path: Path) -> bool:
        return any(path.is_relative_to(place) for place in open_to)

    assert reached(Path(torch.__file__))
    assert reached(Path(os.__file__))
    closed = [ROOT / "solutions", ROOT / "tests", ROOT / "course.yml", Path.home(), Path("/etc"),
              Path("/proc/self"), ROOT / "grader/key"]  # fmt: skip
    assert [path for path in closed if reached(path)] == []
    assert [place for place in open_to if ROOT.is_relative_to(place)] == []


@locked
@pytest.mark.parametrize("name", ["lib", "lib64"])
def test_places_leave_an_installed_answer_key_out(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "lib" / "site-packages"
    for file in ("grader/bundle.zip", "torch/__init__.py", "six.py"):
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).write_text("text", encoding="utf-8")
    (tmp_path / "lib64").symlink_to("lib")
    (site / "linked").symlink_to(tmp_path)
    monkeypatch.setattr(places, "own_package", lambda: site / "grader")
    apart = places.but_own_package([str(tmp_path / name), os.devnull])

    def reading(file: str) -> str:
        def act() -> None:
            landlock.restrict(landlock.make_ruleset(apart.whole, [], apart.listed))
            assert "torch" in os.listdir(site)
            (site / file).read_text()

        return in_a_child(act)

    assert reading("torch/__init__.py") == reading("six.py") == ""
    assert reading("grader/bundle.zip") == reading("linked/lib64/site-packages/grader/bundle.zip")
    assert reading("grader/bundle.zip") == "EACCES"


# ---- what is chosen ----------------------------------------------------------------------------


def machine_at(level: Level) -> Isolation:
    return Isolation(level, (Wall("Landlock", False, "the kernel does not offer it", "wait"),))


@pytest.mark.parametrize(
    ("found", "wanted"),
    [(Level.PROCESS, Level.LANDLOCK), (Level.PROCESS, Level.FULL), (Level.LANDLOCK, Level.FULL)],
)
def test_level_beyond_reach_is_refused_in_one_line(
    found: Level, wanted: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "probe", lambda: machine_at(found))
    with pytest.raises(UsageError, match=rf"at level {found}, not {wanted} \(Landlock: the kern"):
        WarmProcess(wanted)


def test_require_looks_at_what_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "probe", lambda: machine_at(Level.LANDLOCK))
    warm = WarmProcess(Level.PROCESS)
    try:
        isolation.require(warm.isolation, Level.PROCESS)
        with pytest.raises(UsageError, match="say --isolation process"):
            isolation.require(warm.isolation, Level.LANDLOCK)
    finally:
        warm.close()


def test_wall_that_does_not_hold_refuses_to_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "restrict", lambda _: None)
    assert in_a_child(lockdown._try_the_walls) == "Landlock did not take: files can be read"


def test_worker_that_cannot_be_locked_is_our_own_fault(folder: CourseFolder) -> None:
    limits = folder.course.limits.model_dump() | {"open_files": "none"}
    warm = WarmProcess()
    try:
        with pytest.raises(InternalError, match="could not be locked down: invalid literal"):
            warm.start(limits)
        child = warm.start(folder.course.limits.model_dump())
        warm.end(child, grace=False)
    finally:
        warm.close()


@pytest.fixture
def spawning(monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmProcess]:
    """Give what macOS and Windows get."""
    isolation.probe.cache_clear()
    monkeypatch.setattr(isolation, "forks", lambda: False)
    warm = WarmProcess()
    yield warm
    warm.close()
    isolation.probe.cache_clear()


def test_other_systems_get_a_process_for_each_job(
    spawning: WarmProcess, folder: CourseFolder
) -> None:
    text = "import torch, os\nprint('hello')\ndef good():\n    return torch.ones(2)\n"
    text += "def left():\n    os._exit(0)\n"
    calls = [
        Call(str(n), name, "function", "case", "forward", [], {}, [], ["output"])
        for n, name in enumerate(["good", "left", "good"])
    ]
    job = Job("mine", [("mine.py", text)], False, {}, {}, [])
    found = collect(spawning, job, calls, b"", folder.course.limits)
    assert spawning.isolation.level is Level.PROCESS
    assert "no walls that grader knows" in spawning.isolation.missing[0].why
    assert [found.answers[c.id].status for c in calls] == [
        AnswerStatus.OK, AnswerStatus.CRASHED, AnswerStatus.OK,
    ]  # fmt: skip
    assert found.output.startswith(b"hello")


def test_closing_leaves_no_folder_and_no_process(
    folder: CourseFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    warm = WarmProcess(Level.PROCESS)
    warm.start(folder.course.limits.model_dump())
    process = warm._server._process  # type: ignore[attr-defined]
    assert len(os.listdir(tmp_path)) == 1
    warm.close()
    assert process.returncode == 0
    assert os.listdir(tmp_path) == []


# ---- grade doctor ------------------------------------------------------------------------------


def test_doctor_tells_what_was_tried(run_grade: RunGrade) -> None:
    shown = run_grade("doctor", "--json")
    told = json.loads(shown.out)
    assert (shown.status, told["level"]) == (0, str(HERE))
    tried = {level["level"]: level["tried"] for level in told["levels"] if level["tried"]}
    assert set(tried) == {str(level) for level in Level if level.rank <= HERE.rank}
    if HERE is not Level.PROCESS:
        possible = {one["what"] for one in tried["landlock"] if one["possible"]}
        assert possible == {"see which files there are"}
    assert tried["process"][0]["possible"]


def test_doctor_names_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    isolation.probe.cache_clear()
    found = isolation.probe()
    isolation.probe.cache_clear()
    assert found.level is not Level.FULL
    assert "next: install bubblewrap: apt-get install bubblewrap" in as_text(found, [])
