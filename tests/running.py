"""Hooks of every run: who runs which test, which need an answer key, and what was not run.

A test needs a key where it asks for the fixture `key_cache`, or for one that does, as `keys` or
`grade`; it is marked by that alone, and `make check` leaves it out. Any other test finds an empty
cache, and fails if it made a key there.

What was skipped is told at the end, by name. With GRADER_NO_SKIPS=1 in the environment, a skip for
want of a tool that could be installed is a failure.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from support import NO_TOOL

_SHARED = pytest.StashKey[Path]()  # keys of this run, for all its workers
_EMPTY = pytest.StashKey[Path]()  # the cache of a test that needs none
_GROUPS = pytest.StashKey[Path]()  # where a worker says which tests stay together, and more


def pytest_configure(config: pytest.Config) -> None:
    """Choose where keys are kept: a folder of this run, or one that stays for the next.

    torch gets one thread, wherever a test imports it: several wait for each other, and on two
    processors two workers of pytest-xdist came to a fifth of the speed.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    config.addinivalue_line("markers", "key: needs an answer key; set where a fixture asks for one")
    config.addinivalue_line(
        "markers", "long: takes long; `make soak` runs it, `make test` does not"
    )
    given = getattr(config, "workerinput", {})  # in a worker of pytest-xdist
    made = given.get("keys") or os.environ.get("GRADE_TEST_CACHE")
    config.stash[_SHARED] = Path(made or tempfile.mkdtemp(prefix="grade-test-keys-"))
    config.stash[_EMPTY] = Path(tempfile.mkdtemp(prefix="grade-test-none-"))
    config.stash[_GROUPS] = Path(given.get("groups") or tempfile.mkdtemp(prefix="grade-test-run-"))
    config.stash[_SHARED].mkdir(parents=True, exist_ok=True)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist where the keys are, and where groups are told."""
    node.workerinput["keys"] = str(node.config.stash[_SHARED])
    node.workerinput["groups"] = str(node.config.stash[_GROUPS])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what was made for this run."""
    shutil.rmtree(config.stash[_EMPTY], ignore_errors=True)
    if hasattr(config, "workerinput"):
        return
    shutil.rmtree(config.stash[_GROUPS], ignore_errors=True)
    if not os.environ.get("GRADE_TEST_CACHE"):
        shutil.rmtree(config.stash[_SHARED], ignore_errors=True)


# ---- keys ----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def key_cache(pytestconfig: pytest.Config) -> Path:
    """Return where keys are kept; whoever reads or builds one asks for this."""
    return pytestconfig.stash[_SHARED]


@pytest.fixture(scope="session")
def run_folder(pytestconfig: pytest.Config) -> Path:
    """Return a folder of this run, for what one worker makes for all."""
    return pytestconfig.stash[_GROUPS]


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs a key, and put tests into an order that keeps all workers busy.

    Tests that share a fixture of their file, or a group that a mark names, run first, and all by
    one worker. Making what they share is what takes long: a class that is graded, a term that is
    played, keys of a second course. All others fill up what time the workers have left.
    """
    for item in items:
        if "key_cache" in getattr(item, "fixturenames", ()):
            item.add_marker("key")
    groups = {item.nodeid: group for item in items if (group := _group_of(item))}
    items.sort(key=lambda item: item.nodeid not in groups)
    if worker := getattr(config, "workerinput", {}).get("workerid"):
        told = config.stash[_GROUPS] / f"{worker}.json"
        told.write_text(json.dumps(groups), encoding="utf-8")


def _group_of(item: pytest.Item) -> str:
    """Return what a test is kept together with: what its mark names, else its file; "" for none."""
    if mark := item.get_closest_marker("xdist_group"):
        return str(mark.args[0])
    return item.path.stem if _shares_a_fixture(item) else ""


def _shares_a_fixture(item: pytest.Item) -> bool:
    """Whether a test asks for what its own file makes once for several."""
    if not isinstance(item, pytest.Function):
        return False
    made = item._fixtureinfo.name2fixturedefs  # noqa: SLF001 - scopes stand nowhere else
    return any(made[name][-1].scope != "function" for name in made if name in vars(item.module))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let tests of a group go to one worker.

    pytest-xdist 3.8 writes groups into tests' ids, which pytest 9.2 no longer lets it do; then it
    groups nothing, without a word.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Grouped(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
        """Hands out whole groups, and each other test by itself."""

        def __init__(self) -> None:
            super().__init__(config, log)
            self.groups: dict[str, str] = {}  # by a test's id; told once all has been collected

        def _split_scope(self, nodeid: str) -> str:
            if not self.groups:
                for told in config.stash[_GROUPS].glob("*.json"):
                    self.groups |= json.loads(told.read_text(encoding="utf-8"))
            return self.groups.get(nodeid, nodeid)

    return Grouped()


@pytest.hookimpl(tryfirst=True)  # before fixtures are set up
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Show the keys to a test that needs them, and an empty cache to any other."""
    place = _SHARED if item.get_closest_marker("key") else _EMPTY
    os.environ["GRADE_CACHE"] = str(item.config.stash[place])


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Fail a test that made a key without a word."""
    empty = item.config.stash[_EMPTY]
    if any(empty.iterdir()):
        shutil.rmtree(empty)
        empty.mkdir()
        pytest.fail("this test made an answer key: let it ask for the fixture `key_cache`")


# ---- skips ---------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test fail that lacks a tool, where that is asked for."""
    report = yield
    reason = _reason(report)
    if reason.startswith(NO_TOOL) and os.environ.get("GRADER_NO_SKIPS") == "1":
        report.outcome = "failed"
        report.longrepr = f"{reason}; GRADER_NO_SKIPS=1 lets nothing be skipped for that"
    return report


def _reason(report: pytest.TestReport) -> str:
    """Return why a test was skipped; "" where it was not."""
    if not report.skipped or hasattr(report, "wasxfail") or not isinstance(report.longrepr, tuple):
        return ""
    return report.longrepr[2].removeprefix("Skipped: ")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say by name what was skipped, and why."""
    names: dict[str, dict[str, int]] = {}
    for report in terminalreporter.stats.get("skipped", ()):
        test = report.nodeid.partition("[")[0]
        by_test = names.setdefault(_reason(report), {})
        by_test[test] = by_test.get(test, 0) + 1
    if not names:
        return
    terminalreporter.section("not run")
    for reason, tests in names.items():
        terminalreporter.line(f"{sum(tests.values())} not run: {reason}")
        for test, count in tests.items():
            terminalreporter.line(f"    {test}" + (f" ({count})" if count > 1 else ""))
