"""The memory of all submissions together: what is found, and how many are admitted."""

from pathlib import Path

import pytest

from grader.course.load import CourseFolder
from grader.errors import UsageError
from grader.execute import memory
from grader.execute.memory import Memory, admit, control_group, enter_group, find_memory


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give files as Linux has them: 10,000 MiB free, and a process in a group of version 2."""
    own = tmp_path / "groups" / "user" / "shell"
    own.mkdir(parents=True)
    (own.parent / "cgroup.procs").touch()
    (tmp_path / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable:  {10_000 << 10} kB\n")
    (tmp_path / "own").write_text("0::/user/shell\n")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(memory, "_OWN_GROUP", tmp_path / "own")
    monkeypatch.setattr(memory, "_MEMORY", tmp_path / "meminfo")
    return own


def _limit(group: Path, mib: int) -> None:
    (group / "memory.max").write_text(f"{mib << 20}\n")
    (group / "memory.current").write_text(f"{300 << 20}\n")
    (group / "memory.stat").write_text(f"anon 1\ninactive_file {100 << 20}\n")


def test_free_memory_is_found(machine: Path) -> None:  # noqa: ARG001 - what is read
    assert find_memory() == Memory(9_000, "nine tenths of what is free")


def test_limit_of_a_group_further_up_is_found(machine: Path) -> None:
    (machine / "memory.max").write_text("max\n")
    _limit(machine.parent, 2_200)
    assert find_memory() == Memory(1_800, "nine tenths of what is left to this control group")


def test_limit_of_the_first_version_is_found(machine: Path) -> None:
    root = machine.parents[1] / "memory"
    root.mkdir()
    (machine.parents[2] / "own").write_text("4:memory:/elsewhere/of/the/host\n0::/\n")
    (root / "memory.limit_in_bytes").write_text(str(1_100 << 20))
    (root / "memory.usage_in_bytes").write_text(str(300 << 20))
    (root / "memory.stat").write_text(f"total_inactive_file {200 << 20}\n")
    found = find_memory()
    assert found is not None
    assert found.mib == 900


def test_nothing_is_found_where_the_system_does_not_tell(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_MEMORY", machine / "nowhere")
    assert find_memory() is None


def test_children_that_are_admitted_fit_together(folder: CourseFolder) -> None:
    limits = folder.course.limits.model_copy(update={"data_mib": 1000})
    for jobs, mib in [(8, 20_000), (8, 5_400), (8, 2_700), (1, 20_000)]:
        number = admit(jobs, mib, limits).jobs
        assert number <= jobs
        assert number * (2 * 1000 + 700) <= mib
        assert number == jobs or (number + 1) * (2 * 1000 + 700) > mib


def test_limit_that_is_too_small_for_one_is_refused(folder: CourseFolder) -> None:
    with pytest.raises(UsageError, match=r"one submission may take \d+ MiB, and --memory is 100"):
        admit(2, 100, folder.course.limits)


@pytest.mark.parametrize(
    ("found", "jobs", "note"),
    [
        (Memory(100, "what is there"), 1, "1 at once, not 2: 100 MiB of memory (what is there)"),
        (Memory(100_000, "what is there"), 2, ""),
        (None, 2, ""),
    ],
    ids=["little", "much", "unknown"],
)
def test_fewer_are_admitted_where_little_is_found(
    found: Memory | None,
    jobs: int,
    note: str,
    folder: CourseFolder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "find_memory", lambda: found)
    admission = admit(2, None, folder.course.limits)
    assert (admission.jobs, admission.note.partition(";")[0]) == (jobs, note)


def test_control_group_is_made_beside_our_own_and_taken_away(machine: Path) -> None:
    (machine / "memory.max").write_text("max\n")
    with control_group(Memory(100, "")) as group:
        made = Path(group)
        assert made.parent == machine.parent
        assert (made / "memory.max").read_text() == str(100 << 20)
        enter_group(group)
        assert (made / "cgroup.procs").read_text() == "0"
        for path in made.iterdir():
            path.unlink()  # which the kernel does by itself
    assert not made.exists()


def test_no_control_group_is_made_where_none_can_be(machine: Path) -> None:
    with control_group(Memory(100, "")) as group:  # our own has no limit of memory
        assert group == ""
    assert [path.name for path in machine.parent.iterdir() if path.is_dir()] == ["shell"]
