"""The channel to a child: whole frames, deadlines, and what was printed."""

import os
import time
from collections.abc import Iterator

import pytest

from grader.execute.channel import Channel, Closed, Late
from grader.execute.child import Child
from grader.worker.wire import PREFIX, Frame, Violation, pack


@pytest.fixture
def pipes() -> Iterator[tuple[Channel, int, int]]:
    """Give a channel to no process, and the far ends of answers and output."""
    job_in, job = os.pipe()
    answers, answers_out = os.pipe()
    output, output_out = os.pipe()
    channel = Channel(Child(0, job, answers, output), payload_cap=100, output_cap=10)
    yield channel, answers_out, output_out
    for descriptor in (job_in, job, answers, output, answers_out, output_out):
        try:
            os.close(descriptor)
        except OSError:
            continue


def soon() -> float:
    """Return a deadline that is near."""
    return time.monotonic() + 0.2


def test_channel_gives_whole_frames(pipes: tuple[Channel, int, int]) -> None:
    channel, answers, _ = pipes
    os.write(answers, pack('{"a": 1}', b"xyz") + pack('{"b": 2}'))
    assert channel.receive(soon()) == Frame({"a": 1}, b"xyz")
    assert channel.receive(soon()) == Frame({"b": 2}, b"")


def test_channel_partial_reads_do_not_move_the_deadline(pipes: tuple[Channel, int, int]) -> None:
    channel, answers, _ = pipes
    os.write(answers, pack('{"a": 1}', b"xyz")[:-1])
    begun = time.monotonic()
    with pytest.raises(Late):
        channel.receive(soon())
    assert time.monotonic() - begun < 1


def test_channel_refuses_a_frame_beyond_its_cap(pipes: tuple[Channel, int, int]) -> None:
    channel, answers, _ = pipes
    os.write(answers, PREFIX.pack(2, 101))
    with pytest.raises(Violation, match="larger than asked for"):
        channel.receive(soon())


def test_channel_tells_a_closed_pipe(pipes: tuple[Channel, int, int]) -> None:
    channel, answers, _ = pipes
    os.close(answers)
    with pytest.raises(Closed):
        channel.receive(soon())


def test_channel_keeps_the_first_of_the_output(pipes: tuple[Channel, int, int]) -> None:
    channel, answers, output = pipes
    os.write(output, b"0123456789abcdef")
    os.write(answers, pack("{}"))
    channel.receive(soon())
    channel.close()
    assert channel.output == b"0123456789"


def test_channel_ends_endless_output(pipes: tuple[Channel, int, int]) -> None:
    channel, _, output = pipes
    os.write(output, b"x" * 1000)
    with pytest.raises(Violation, match="printed without end"):
        channel.receive(soon())
