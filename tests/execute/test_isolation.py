"""The walls together: what a locked worker sees, which level is chosen, and what refuses."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support import ROOT, RunGrade, in_a_child, plain_call

from grader.cli.doctor import Kept, as_text
from grader.course.load import CourseFolder
from grader.errors import InternalError, UsageError
from grader.execute import isolation
from grader.execute.child import limits_of
from grader.execute.isolation import Isolation, Level, Wall, probe
from grader.execute.launch import ForkServer, WarmProcess
from grader.execute.session import Job, collect
from grader.records.answers import AnswerStatus
from grader.worker import landlock, lockdown, places
from grader.worker.frameworks import FrameworkName

HERE = probe().level
locked = pytest.mark.skipif(HERE is Level.PROCESS, reason="no Landlock or seccomp here")


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
    apart = places.but_answers([str(tmp_path / name), os.devnull])

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
    assert in_a_child(lockdown.try_the_walls) == "Landlock did not take: files can be read"


def test_worker_that_cannot_be_locked_is_our_own_fault(folder: CourseFolder) -> None:
    limits = limits_of(folder.course.limits)
    broken = replace(limits, open_files="none")  # type: ignore[arg-type]
    warm = WarmProcess()
    try:
        with pytest.raises(InternalError, match=r"could not be locked down: .*str"):
            warm.start(broken)
        child = warm.start(limits)
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
    calls = [plain_call(str(n), name) for n, name in enumerate(["good", "left", "good"])]
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
    server = ForkServer(Level.PROCESS)
    server.start(limits_of(folder.course.limits), FrameworkName.TORCH, None)
    assert len(os.listdir(tmp_path)) == 1
    server.close()
    assert server.process.returncode == 0
    assert os.listdir(tmp_path) == []


# ---- grade doctor ------------------------------------------------------------------------------


def test_doctor_tells_what_was_tried(run_grade: RunGrade) -> None:
    shown = run_grade("doctor", "--json")
    told = json.loads(shown.out)
    assert told["memory"]["mib"] is None or told["memory"]["mib"] > 0
    assert told["memory"]["by"].startswith("admission")
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
    assert "next: install bubblewrap: apt-get install bubblewrap" in as_text(
        found, [], Kept(None, "admission")
    )
