"""Work on a text in another process: its answer, its exception, and what is given up."""

import os
import signal
from collections.abc import Callable

import pytest

from grader.handin.aside import ask
from grader.handin.refused import Refused
from grader.handin.syntax import parse


def test_ask_returns_what_the_work_makes_elsewhere() -> None:
    assert ask(os.getpid) != os.getpid()
    assert ask(os.getpid) == ask(os.getpid)


def test_ask_raises_what_the_work_raises() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        ask(int, "one")


@pytest.mark.parametrize(
    ("work", "given"),
    [(pow, (7, 1 << 30)), (bytes, (1 << 30,)), (os.abort, ())],
    ids=["time", "memory", "crash"],
)
def test_work_that_takes_too_much_is_given_up(
    work: Callable[..., object], given: tuple[object, ...]
) -> None:
    with pytest.raises(Refused, match="cannot be parsed in half a second and 170 MiB"):
        ask(work, *given)
    assert ask(abs, -1) == 1


def test_question_whose_process_is_killed_from_outside_is_asked_again() -> None:
    os.kill(ask(os.getpid), signal.SIGKILL)
    assert ask(abs, -1) == 1


def test_trees_are_forgotten_before_they_are_many() -> None:
    parse("x = 1")
    tree = parse("x = 1")
    for number in range(20):
        parse("".join(f"a{n} = {number}\n" for n in range(6_000)))
    assert parse("x = 1") is not tree
