"""What does not end by itself is ended."""

import contextlib
import threading

import pytest

from grader.processes import EndlessError, ending


def _go_on() -> None:
    while True:
        with contextlib.suppress(Exception):  # as learners' code may
            sum(range(100))


def test_a_loop_without_an_end_is_ended_whatever_it_catches() -> None:
    with pytest.raises(EndlessError), ending(0.05):
        _go_on()


def test_what_ends_in_time_is_left_alone() -> None:
    with ending(30):
        assert sum(range(1000)) == 499500


def test_a_thread_cannot_hear_of_it_and_goes_on() -> None:
    done = []

    def run() -> None:
        with ending(30):
            done.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done == [True]
