"""The pool of processes that grades a class: what vanishes is tried again, and never hangs it."""

from functools import partial
from pathlib import Path

import pytest
from pool_work import fragile, unready

from grader.batch.pool import Lost, Pool
from grader.errors import InternalError


def test_pool_gives_up_what_vanishes_twice(tmp_path: Path) -> None:
    pool: Pool[int, int] = Pool(partial(fragile, tmp_path / "log"), 2)
    try:
        done = list(pool.map(range(8)))
    finally:
        pool.close()
    lost = {d.unit: d.reason.rpartition(":")[0] or d.reason for d in done if isinstance(d, Lost)}
    assert lost == {3: "the process that graded it vanished", 4: "ValueError at pool_work.py"}
    assert sorted(d for d in done if isinstance(d, int)) == [0, 1, 4, 25, 36, 49]


def test_pool_imports_nothing_from_the_folder_that_it_is_called_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stands among the submissions does not run one that is called pickle.py."""
    (tmp_path / "pickle.py").write_text("raise SystemExit('it ran')")
    monkeypatch.chdir(tmp_path)
    pool: Pool[int, int] = Pool(partial(fragile, tmp_path / "log"), 1)
    try:
        assert list(pool.map([6])) == [36]
    finally:
        pool.close()


def test_pool_tells_why_no_work_can_begin() -> None:
    pool: Pool[int, int] = Pool(unready, 1)
    with pytest.raises(InternalError, match="nothing to work with"):
        list(pool.map([1]))
    pool.close()
