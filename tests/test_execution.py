"""Running untrusted code: limits, restarts, forged answers, captured output, errors."""

import json
import os
import struct
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from support import (
    SUBMISSIONS,
    GradeText,
    assert_full,
    assert_target_full,
    edited,
    find_check,
    solution,
    target_checks,
)

from grader import grading
from grader.course.load import CourseFolder
from grader.course.models import Limits
from grader.execute.answers import AnswerStatus, load_tensors, parse_answer, parse_greeting
from grader.execute.channel import Channel, Closed, Late
from grader.execute.launch import Child, WarmProcess
from grader.execute.session import Collected, Job, collect
from grader.notebooks import neutralize_magics
from grader.plan.records import Call
from grader.records import ExerciseResult, Status
from grader.worker.wire import PREFIX, Violation, pack, parse_header

FILE = "exercise1_attention.py"
RIGHT = (SUBMISSIONS / "perfect" / FILE).read_text(encoding="utf-8")
SELF = "def self_attention(x):\n"


# ---- session: one answer for each call, whatever happens ---------------------------------------


def call(name: str, target: str) -> Call:
    """Return a call of a function without arguments."""
    return Call(name, target, "function", "case", "forward", [], {}, [], ["output"])


def run(
    warm: WarmProcess, folder: CourseFolder, text: str, calls: list[Call], **limits: Any
) -> Collected:
    """Run calls of a file's functions."""
    tight = folder.course.limits.model_copy(update={"case_seconds": 1, **limits})
    job = Job("mine", [("mine.py", text)], False, {}, {}, [])
    return collect(warm, job, calls, b"", tight)


GOOD = "import torch\n\ndef good():\n    return torch.ones(2)\n"
HANG = "\ndef hang():\n    while True:\n        pass\n"


def test_session_goes_on_after_a_hang(warm: WarmProcess, folder: CourseFolder) -> None:
    calls = [call("1", "good"), call("2", "hang"), call("3", "good")]
    answers = run(warm, folder, GOOD + HANG, calls).answers
    assert [answers[c.id].status.value for c in calls] == ["ok", "timeout", "ok"]
    assert answers["2"].reason == "no answer within 1 second"


def test_session_gives_a_target_up_after_its_restarts(
    warm: WarmProcess, folder: CourseFolder
) -> None:
    calls = [*(call(f"hang {i}", "hang") for i in range(20)), call("good", "good")]
    begun = time.monotonic()
    answers = run(warm, folder, GOOD + HANG, calls, case_seconds=0.5, restarts=1).answers
    assert time.monotonic() - begun < 4
    assert {answers[f"hang {i}"].status for i in range(20)} == {AnswerStatus.TIMEOUT}
    assert answers["good"].status is AnswerStatus.OK


def test_session_keeps_the_limit_of_a_target(warm: WarmProcess, folder: CourseFolder) -> None:
    text = GOOD + "\nimport time\n\ndef slow():\n    time.sleep(0.4)\n    return torch.ones(1)\n"
    calls = [*(call(f"slow {i}", "slow") for i in range(10)), call("good", "good")]
    answers = run(warm, folder, text, calls, target_seconds=1).answers
    late = [c.id for c in calls if answers[c.id].status is AnswerStatus.TIMEOUT]
    assert 7 <= len(late) < 10
    assert answers["good"].status is AnswerStatus.OK


def test_session_keeps_the_limit_of_a_submission(warm: WarmProcess, folder: CourseFolder) -> None:
    calls = [call(f"hang {i}", f"hang{i % 5}") for i in range(20)]
    text = "".join(HANG.replace("hang", f"hang{i}") for i in range(5))
    begun = time.monotonic()
    answers = run(warm, folder, text, calls, submission_seconds=1.5).answers
    assert time.monotonic() - begun < 4
    assert len(answers) == 20
    assert {a.status for a in answers.values()} == {AnswerStatus.TIMEOUT}


def test_session_keeps_the_limit_of_cpu_seconds(warm: WarmProcess, folder: CourseFolder) -> None:
    answers = run(
        warm, folder, HANG, [call("1", "hang")], cpu_seconds=1, case_seconds=8, restarts=0
    ).answers
    assert answers["1"].status is AnswerStatus.TIMEOUT
    assert "no answer within 1 second" in answers["1"].reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import os\n    os._exit(0)", "left without an answer"),
        ("import os\n    os.abort()", "it crashed (SIGABRT)"),
        ("import ctypes\n    ctypes.string_at(0)", "it crashed (SIGSEGV)"),
        ("import os\n    os.kill(os.getpid(), 9)", "it crashed (SIGKILL)"),
        ("import os\n    os.closerange(3, 64)", "left without an answer"),
    ],
    ids=["exit", "abort", "segfault", "kill", "closed descriptors"],
)
def test_session_goes_on_after_a_crash(
    body: str, reason: str, warm: WarmProcess, folder: CourseFolder
) -> None:
    calls = [call("1", "good"), call("2", "bad"), call("3", "good")]
    answers = run(warm, folder, f"{GOOD}\ndef bad():\n    {body}\n", calls).answers
    assert [answers[c.id].status.value for c in calls] == ["ok", "crashed", "ok"]
    assert reason in answers["2"].reason


def test_session_ends_what_a_submission_started(warm: WarmProcess, folder: CourseFolder) -> None:
    text = (
        f"{GOOD}\nimport os, time\n\ndef fork():\n    child = os.fork()\n    if not child:\n"
        "        time.sleep(30)\n        os._exit(0)\n    return torch.tensor([child])\n"
    )
    answers = run(warm, folder, text, [call("1", "fork")]).answers
    if answers["1"].status is AnswerStatus.OK:  # else forking is not even allowed
        child = int(answers["1"].tensors["output/output"][0])
        assert not _runs(child)


def _runs(pid: int) -> bool:
    """Whether a process is there and not just waiting to be reaped; tried for a moment."""
    for _ in range(50):
        try:
            state = (
                Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
            )
        except FileNotFoundError:
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True


def test_session_starts_each_submission_afresh(warm: WarmProcess, folder: CourseFolder) -> None:
    first = GOOD.replace("import torch\n", "import torch\ntorch.ones = None\n")
    assert run(warm, folder, first, [call("1", "good")]).answers["1"].status is AnswerStatus.RAISED
    assert run(warm, folder, GOOD, [call("1", "good")]).answers["1"].status is AnswerStatus.OK


DRAWS = """
import torch

def draw():
    return torch.nn.Linear(3, 3).weight @ torch.rand(3) + torch.finfo(torch.ones(1).dtype).bits
"""


def test_child_after_many_answers_as_the_first(folder: CourseFolder) -> None:
    warm = WarmProcess()
    try:
        runs = [run(warm, folder, DRAWS, [call("1", "draw")]).answers["1"] for _ in range(18)]
    finally:
        warm.close()
    assert {answer.tensors["output/output"].tobytes() for answer in runs} == {
        runs[0].tensors["output/output"].tobytes()
    }


LINEAR = """
from torch import nn

class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2, bias=False)

    def forward(self, x):
        return self.inner(x)
"""


KEEPING = LINEAR.replace(
    "return self.inner(x)",
    "self.kept = getattr(self, 'kept', 0) + x\n        return self.inner(self.kept)",
)


@pytest.mark.parametrize("text", [LINEAR, KEEPING], ids=["plain", "keeping"])
def test_gradients_of_one_module_do_not_add_up(
    text: str, warm: WarmProcess, folder: CourseFolder
) -> None:
    role = {"name": "w", "shape": [2, 2], "kind": "linear", "aliases": []}
    forward = Call(
        "1", "Linear", "module", "case", "forward", [], {}, [{"tensor": "x"}], ["output"],
        [role], {"w": "w"},
    )  # fmt: skip
    gradient = replace(forward, action="gradient", cotangents=["x"])
    calls = [forward, *(replace(gradient, id=name) for name in "23")]
    payload = safetensors.numpy.save({"x": np.ones((1, 2)), "w": np.eye(2)})
    job = Job("mine", [("mine.py", text)], False, {}, {}, [])
    answers = collect(warm, job, calls, payload, folder.course.limits).answers
    assert answers["1"].tensors["output/output"].tolist() == [[1, 1]]
    assert answers["2"].tensors["grad/w"].tolist() == [[1, 1], [1, 1]]
    assert answers["3"].tensors["grad/w"].tolist() == [[1, 1], [1, 1]]


def test_session_refuses_an_answer_that_is_too_large(
    warm: WarmProcess, folder: CourseFolder
) -> None:
    text = GOOD + "\ndef large():\n    return torch.ones(1 << 20)\n"
    calls = [call("1", "large"), call("2", "good")]
    answers = run(warm, folder, text, calls, answer_mib=1).answers
    assert answers["1"].tensors == {}
    assert answers["2"].status is AnswerStatus.OK


def test_session_bounds_all_answers_of_a_child_together(
    warm: WarmProcess, folder: CourseFolder
) -> None:
    text = "import torch\n\ndef large():\n    return torch.ones(110_000)\n"
    calls = [call(str(n), "large") for n in range(20)]
    answers = run(warm, folder, text, calls, answer_mib=1, restarts=0).answers
    kept = sum(array.nbytes for a in answers.values() for array in a.tensors.values())
    assert 0 < kept <= 8 << 20
    assert answers["19"].status is AnswerStatus.REFUSED


def test_memory_bomb_fails_and_the_rest_goes_on(warm: WarmProcess, folder: CourseFolder) -> None:
    text = GOOD + "\ndef bomb():\n    return [torch.ones(1 << 26) for _ in range(64)]\n"
    calls = [call("1", "bomb"), call("2", "good")]
    answers = run(warm, folder, text, calls, data_mib=300, case_seconds=5).answers
    assert answers["1"].status in (AnswerStatus.RAISED, AnswerStatus.CRASHED)
    assert answers["2"].status is AnswerStatus.OK


# ---- forged answers ----------------------------------------------------------------------------

FIND_PIPE = """
import os, stat, struct, json

def pipes():
    found = []
    for fd in range(3, 64):
        try:
            mode = os.fstat(fd).st_mode
        except OSError:
            continue
        if stat.S_ISFIFO(mode):
            try:
                os.write(fd, b"")
                found.append(fd)
            except OSError:
                pass
    return found

def forge(data):
    for fd in pipes():
        os.write(fd, data)

def frame(header, payload=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<II", len(text), len(payload)) + text + payload
"""


@pytest.mark.parametrize(
    "data",
    [
        "b'garbage' * 1000",
        "struct.pack('<II', 1 << 31, 1 << 31)",
        "struct.pack('<II', 2, 1 << 31) + b'{}'",
        "frame(b'not json')",
        "frame(b'[1, 2]')",
        "frame(b'[' * 100000)",
        "frame({'call': 'bad'})",
        "frame({'call': 'bad', 'status': 'passed'})",
        "frame({'call': 'other', 'status': 'ok'})",
        "frame({'call': 'bad', 'status': 'raised'})",
        "frame({'call': 'bad', 'status': 'ok', 'score': 100})",
        "frame({'call': 'bad', 'status': 'ok'}, b'no tensors')",
        "frame({'call': 'bad', 'status': 'ok', 'info': {'names': [['a' * 9999, [1]]]}})",
        "frame({'call': 'bad', 'status': 'timeout', 'info': {'count': -1}})",
        "frame({'loaded': True, 'error': None, 'names': []})",
    ],
    ids=[
        "garbage",
        "huge lengths",
        "huge payload",
        "no JSON",
        "no object",
        "deep JSON",
        "no status",
        "a verdict",
        "another call",
        "no error",
        "a score",
        "no tensors",
        "long name",
        "negative count",
        "a second greeting",
    ],
)
def test_forged_frame_fails_its_call_and_no_other(
    data: str, warm: WarmProcess, folder: CourseFolder
) -> None:
    text = f"{GOOD}{FIND_PIPE}\ndef bad():\n    forge({data})\n    return torch.ones(1)\n"
    calls = [call("before", "good"), call("bad", "bad"), call("after", "good")]
    answers = run(warm, folder, text, calls).answers
    assert answers["before"].status is AnswerStatus.OK
    assert answers["bad"].status is AnswerStatus.REFUSED
    assert answers["after"].status is AnswerStatus.OK
    assert answers["bad"].tensors == {}


def test_answering_twice_is_refused_at_the_next_call(
    warm: WarmProcess, folder: CourseFolder
) -> None:
    text = (
        f"{GOOD}{FIND_PIPE}\ndef bad():\n    forge(frame({{'call': 'bad', 'status': 'ok'}}))\n"
        "    return torch.ones(1)\n"
    )
    answers = run(warm, folder, text, [call("bad", "bad"), call("after", "good")]).answers
    assert answers["bad"].tensors == {}
    assert answers["after"].status is AnswerStatus.REFUSED


def test_forged_greeting_fails_the_file(warm: WarmProcess, folder: CourseFolder) -> None:
    text = f"{FIND_PIPE}\nforge(frame({{'loaded': 1}}))\n{GOOD}"
    answers = run(warm, folder, text, [call("1", "good")]).answers
    assert answers["1"].status is AnswerStatus.REFUSED


def test_forged_frame_costs_only_its_target(grade_text: GradeText) -> None:
    text = RIGHT + FIND_PIPE + "\ndef self_attention(x):\n    forge(b'x' * 99)\n    return x\n"
    result = grade_text({"exercise1": text})
    assert {c.status for c in target_checks(result, "self_attention")} <= {
        Status.FAILED,
        Status.SKIPPED,
    }
    assert_target_full(result, "attention_weights")
    assert "larger than asked for" in find_check(result, "self_attention/numeric").message


# ---- what answers may look like ----------------------------------------------------------------


def header(**more: Any) -> dict[str, Any]:
    """Return an answer's header."""
    return {"call": "1", "status": "ok", **more}


def test_parse_answer_rebuilds_tensors() -> None:
    payload = safetensors.numpy.save({"output/y": np.arange(3.0)})
    answer = parse_answer(header(), payload, "1")
    assert answer.tensors["output/y"].tolist() == [0, 1, 2]
    assert answer.status is AnswerStatus.OK


@pytest.mark.parametrize(
    "claimed",
    [
        {"status": "ok"},
        header(call=1),
        header(status="fine"),
        header(status="timeout"),
        header(status="refused"),
        header(extra=1),
        header(info={"count": "3"}),
        header(info={"parts": [{"type": "x"}] * 9}),
        header(info={"parts": [{"type": "x", "shape": [-1]}]}),
        header(info={"parts": [{"type": "x", "shape": [10**400]}]}),
        header(info={"count": True}),
        header(info={"count": float("nan")}),
        header(info={"returned": "\ud800"}),
        header(info={"loose": [["a"]]}),
        header(error={"type": "E", "bases": [], "message": "", "frames": []}),
        header(
            status="raised", error={"type": "E" * 401, "bases": [], "message": "", "frames": []}
        ),
    ],
    ids=[
        "no call",
        "number for a call",
        "unknown status",
        "the parent's own timeout",
        "the parent's own refusal",
        "unknown key",
        "text for a number",
        "too many parts",
        "negative size",
        "enormous size",
        "truth for a number",
        "NaN",
        "half a character",
        "half a pair",
        "error beside ok",
        "long type",
    ],
)
def test_parse_answer_refuses_another_form(claimed: dict[str, Any]) -> None:
    with pytest.raises(Violation):
        parse_answer(claimed, b"", "1")


@pytest.mark.parametrize("payload", [b"x", b"\xff" * 64, struct.pack("<Q", 1 << 60) + b"{}"])
def test_load_tensors_refuses_what_it_cannot_read(payload: bytes) -> None:
    with pytest.raises(Violation, match="cannot be read"):
        load_tensors(payload)


def test_load_tensors_refuses_other_dtypes() -> None:
    payload = safetensors.numpy.save({"a": np.zeros(2, np.uint64)})
    with pytest.raises(Violation, match="a dtype that nobody asked for"):
        load_tensors(payload)


def _laid(names: str, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(names)) + names.encode() + data


@pytest.mark.parametrize(
    "payload",
    [
        _laid('{"a":{"dtype":"F64","shape":[-1],"data_offsets":[0,8]}}', bytes(8)),
        _laid('{"a":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}}', bytes(16)),
        _laid(
            '{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},'
            '"b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}',
            bytes(8),
        ),
        _laid(f'{{"a":{{"dtype":"F64","shape":[{1 << 62},8],"data_offsets":[0,0]}}}}'),
        _laid(f'{{"a":{{"dtype":"F64","shape":{[1] * 999},"data_offsets":[0,8]}}}}', bytes(8)),
        _laid('{"a":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}', bytes(8)),
        _laid('{"a":' + "[" * 60_000),
        _laid('{"\\ud800":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}', bytes(8)),
        _laid(
            "{"
            + ",".join(
                f'"{n}":{{"dtype":"F64","shape":[0],"data_offsets":[0,0]}}' for n in range(50_000)
            )
            + "}"
        ),
    ],
    ids=[
        "negative size",
        "hole",
        "overlap",
        "overflow",
        "999 axes",
        "bfloat16",
        "deep JSON",
        "half a character",
        "50,000 tensors",
    ],
)
def test_parse_answer_refuses_odd_tensors_at_once(payload: bytes) -> None:
    begun = time.process_time()
    with pytest.raises(Violation):
        parse_answer(header(), payload, "1")
    assert time.process_time() - begun < 1


def test_load_tensors_takes_every_byte_but_zero_for_true() -> None:
    laid = _laid('{"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}', b"\x02\x00")
    array = load_tensors(laid)["a"]
    assert array.view(np.uint8).tolist() == [1, 0]


def test_load_tensors_keeps_one_order() -> None:
    names = [f"grad/{letter}" for letter in "zyxwvutsrqponm"]
    payload = safetensors.numpy.save({name: np.zeros(1) for name in names})
    orders = {tuple(load_tensors(payload)) for _ in range(5)}
    assert len(orders) == 1


def test_parse_greeting_refuses_another_form() -> None:
    with pytest.raises(Violation, match="a greeting of another form"):
        parse_greeting({"loaded": "yes", "error": None, "names": []})


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"3", b"\xff\xfe", b"[" * 10_000])
def test_parse_header_refuses_all_but_objects(text: bytes) -> None:
    with pytest.raises(Violation):
        parse_header(text)


# ---- the channel ------------------------------------------------------------------------------


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
    os.write(answers, pack({"a": 1}, b"xyz") + pack({"b": 2}))
    assert channel.receive(soon()) == ({"a": 1}, b"xyz")
    assert channel.receive(soon()) == ({"b": 2}, b"")


def test_channel_partial_reads_do_not_move_the_deadline(pipes: tuple[Channel, int, int]) -> None:
    channel, answers, _ = pipes
    os.write(answers, pack({"a": 1}, b"xyz")[:-1])
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
    os.write(answers, pack({}))
    channel.receive(soon())
    channel.close()
    assert channel.output == b"0123456789"


def test_channel_ends_endless_output(pipes: tuple[Channel, int, int]) -> None:
    channel, _, output = pipes
    os.write(output, b"x" * 1000)
    with pytest.raises(Violation, match="printed without end"):
        channel.receive(soon())


# ---- printed output ----------------------------------------------------------------------------


def with_body(body: str) -> str:
    """Return right work whose `self_attention` runs `body` first."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return edited(RIGHT, (SELF, SELF + lines))


@pytest.mark.parametrize(
    ("body", "printed"),
    [
        ("print('hello')", "hello"),
        ("import sys\nprint('hello', file=sys.stderr)", "hello"),
        ("import os\nos.write(1, b'hello')", "hello"),
        ('print(\'{"call": "1", "status": "ok"}\')', '{"call": "1", "status": "ok"}'),
        ("import warnings\nwarnings.warn('hello')", "UserWarning: hello"),
        ("import sys\nsys.stdout.close()", ""),
    ],
    ids=["print", "stderr", "descriptor", "an answer's text", "warning", "closed"],
)
def test_printing_disturbs_nothing_and_is_shown(
    body: str, printed: str, grade_text: GradeText
) -> None:
    result = grade_text({"exercise1": with_body(body)})
    assert_full(result)
    assert printed in result.output


def test_printed_output_is_capped_and_clean(grade_text: GradeText) -> None:
    body = "print('a\\x1b[31mred\\u202e' + 'x' * 5000)\nprint('y\\n' * 300)"
    result = grade_text({"exercise1": with_body(body)})
    assert_full(result)
    assert 0 < len(result.output) < 10_000
    assert len(result.output.splitlines()) <= 40
    assert not {"\x1b", "\u202e"} & set(result.output)


def test_endless_output_fails_its_target(grade_text: GradeText) -> None:
    result = grade_text({"exercise1": with_body("while True:\n    print('x' * 9999)")})
    assert_target_full(result, "attention_weights")
    check = find_check(result, "self_attention/shape")
    assert check.status is Status.FAILED
    assert "printed without end" in check.message


def test_every_round_of_calls_ends_at_one_time(
    grade_text: GradeText, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What drips in float64 does not get its seconds again in float32."""
    ends = []

    def noted(*given: Any, end: float, **more: Any) -> Any:
        ends.append(end)
        return collect(*given, end=end, **more)

    monkeypatch.setattr(grading, "collect", noted)
    grade_text({"exercise1": with_body("raise RuntimeError('in float64')")})
    assert len(ends) == 2
    assert len(set(ends)) == 1


def test_what_hangs_is_not_tried_in_float32(
    grade_text: GradeText, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = []

    def noted(*given: Any, **more: Any) -> Any:
        rounds.append(collect(*given, **more))
        return rounds[-1]

    monkeypatch.setattr(grading, "collect", noted)
    body = "if x.size(0) > 1:\n    raise RuntimeError('in float64')\nwhile True:\n    pass"
    result = grade_text({"exercise1": with_body(body)}, case_seconds=0.5)
    assert Status.TIMEOUT in {check.status for check in result.checks}
    assert len(rounds) == 1


# ---- errors of the submission ------------------------------------------------------------------


def message_of(body: str, grade_text: GradeText) -> str:
    """Return what is said where `body` raises; the others keep their points."""
    result = grade_text({"exercise1": with_body(body)})
    assert_target_full(result, "attention_weights")
    check = find_check(result, "self_attention/shape")
    assert check.status is Status.FAILED
    return check.message


def test_error_shows_the_students_own_line(grade_text: GradeText) -> None:
    message = message_of("import torch\ntorch.bmm(x, 3)", grade_text)
    assert message.startswith("`self_attention` raised TypeError: bmm(): argument 'mat2'")
    assert message.endswith(f"at {FILE}, line 14: `torch.bmm(x, 3)`")
    assert "calls.py" not in message
    assert "harness" not in message


def test_error_shows_the_line_that_python_counts(grade_text: GradeText) -> None:
    text = "# \x0c \x1c \u2028\n" + with_body("1 / 0  # \x1b[31m\u202e")
    message = find_check(grade_text({"exercise1": text}), "self_attention/shape").message
    assert message.endswith(f"at {FILE}, line 14: `1 / 0 # [31m`")


def test_error_of_a_wrong_call_names_no_frame_of_the_grader(grade_text: GradeText) -> None:
    text = edited(RIGHT, (SELF, "def self_attention():\n"))
    message = find_check(grade_text({"exercise1": text}), "self_attention/shape").message
    assert "takes 0 positional arguments but 1 was given" in message
    assert " at " not in message


EVIL = """class Evil(Exception):
    def __str__(self):
        {0}
    __repr__ = __str__
raise Evil"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (EVIL.format("raise RuntimeError"), "Evil: (its text cannot be made)"),
        (EVIL.format("raise SystemExit"), "Evil: (its text cannot be made)"),
        (EVIL.format("return 3"), "Evil: (its text cannot be made)"),
        (EVIL.format("return 'x' * (1 << 22)"), "Evil: xxxx"),
        ("raise RuntimeError('a\\x1b[2J\\u202eb\\nc')", "RuntimeError: a [2J b c"),
        ("raise RuntimeError('\\ud800')", "RuntimeError"),
        ("raise KeyError('k')", "KeyError: the key 'k' is not there"),
        ("raise BaseException('base')", "BaseException: base"),
        ("raise type('A' * 9999, (Exception,), {})", "AAAA"),
        ("raise KeyError(type('E', (), {'__repr__': lambda s: 1 / 0})())", "KeyError"),
        ("raise SyntaxError(type('E', (), {'__str__': lambda s: 1 / 0})())", "SyntaxError"),
        ("e = SyntaxError('m')\ne.filename = []\nraise e", "SyntaxError: m"),
        (
            "e = SyntaxError('m')\ne.filename, e.lineno = '" + FILE + "', 'x'\nraise e",
            "SyntaxError",
        ),
        ("raise MemoryError", "MemoryError"),
        ("raise StopIteration", "StopIteration"),
        ("raise GeneratorExit", "GeneratorExit"),
    ],
    ids=[
        "__str__ raises",
        "__str__ exits",
        "__str__ of a number",
        "endless text",
        "control characters",
        "surrogate",
        "key",
        "base exception",
        "long name",
        "key whose repr raises",
        "syntax error whose text raises",
        "syntax error of no file",
        "syntax error of no line",
        "memory",
        "stop",
        "generator exit",
    ],
)
def test_evil_exception_is_one_short_line(body: str, said: str, grade_text: GradeText) -> None:
    message = message_of(body, grade_text)
    assert said in message
    assert message.isprintable()
    assert len(message) < 1000


def test_error_in_an_earlier_exercise_names_its_file(grade_text: GradeText) -> None:
    text = solution("exercise7")
    mistaken = edited(
        solution("exercise4"),
        ("        activated = self", "        1 / 0\n        activated = self"),
    )
    texts = {"exercise7": text, "exercise3": solution("exercise3"), "exercise4": mistaken}
    texts |= {"exercise1": RIGHT, "exercise5": solution("exercise5")}
    result = grade_text(texts)
    message = find_check(result, "build_classifier/shape").message
    assert "ZeroDivisionError: division by zero at exercise4_feed_forward.py, line" in message
    assert_target_full(result, "TransformerClassifier")


# ---- earlier exercises -------------------------------------------------------------------------

HEAD = "from exercise1_attention import scaled_dot_product_attention as attend\n"


@pytest.mark.parametrize(
    "line",
    [
        HEAD,
        "import exercise1_attention\n\nattend = exercise1_attention.scaled_dot_product_attention\n",
        "import exercises.exercise1_attention as first\n\n"
        "attend = first.scaled_dot_product_attention\n",
        "from exercises import exercise1_attention as first\n\n"
        "attend = first.scaled_dot_product_attention\n",
        "from exercises.exercise1_attention import scaled_dot_product_attention as attend\n",
        "from .exercise1_attention import scaled_dot_product_attention as attend\n",
        "from exercise1 import scaled_dot_product_attention as attend\n",
        "from exercise1_attention import *\n\nattend = scaled_dot_product_attention\n",
    ],
    ids=["from", "import", "dotted", "package", "from package", "relative", "short", "star"],
)
def test_stand_in_is_served_to_every_form_of_import(line: str, grade_text: GradeText) -> None:
    text = (SUBMISSIONS / "perfect/exercise3_multi_head.py").read_text(encoding="utf-8")
    assert_full(grade_text({"exercise3": edited(text, (HEAD, line))}))


@pytest.mark.parametrize("exercise", ["exercise2", "exercise3"])
def test_own_mistake_of_exercise1_costs_once(exercise: str, grade_text: GradeText) -> None:
    mistaken = edited(RIGHT, ("* scale)", ")"))
    assert_full(grade_text({exercise: solution(exercise), "exercise1": mistaken}))


def test_later_exercise_cannot_be_imported(grade_text: GradeText) -> None:
    result = grade_text({"exercise1": "import exercise2_qkv_projection\n" + RIGHT})
    assert "No module named 'exercise2_qkv_projection'" in (
        find_check(result, "self_attention/shape").message
    )


def classifier_with(grade_text: GradeText, **changed: str) -> ExerciseResult:
    """Grade the reference of exercise 7 beside the references, some of them changed."""
    own = {f"exercise{i}": solution(f"exercise{i}") for i in (7, 1, 2, 3, 4, 5, 6)}
    return grade_text({**own, **changed})


def test_build_classifier_uses_the_submissions_own(grade_text: GradeText) -> None:
    spare = edited(
        solution("exercise4"),
        (
            "        self.dropout = ",
            "        self.spare = nn.Linear(3, 3)\n        self.dropout = ",
        ),
    )
    result = classifier_with(grade_text, exercise4=spare)
    assert_target_full(result, "TransformerClassifier")
    check = find_check(result, "build_classifier/property/registered")
    assert "more than the" in check.message


def test_build_classifier_without_an_earlier_exercise_says_so(grade_text: GradeText) -> None:
    own = {f"exercise{i}": solution(f"exercise{i}") for i in (7, 1, 2, 3, 5, 6)}
    result = grade_text(own)
    assert_target_full(result, "TransformerClassifier")
    assert "exercise4_feed_forward" in find_check(result, "build_classifier/shape").message


def test_build_classifier_waits_for_an_unwritten_exercise(grade_text: GradeText) -> None:
    stub = (SUBMISSIONS / "stub/exercise4_feed_forward.py").read_text(encoding="utf-8")
    result = classifier_with(grade_text, exercise4=stub)
    check = find_check(result, "build_classifier/shape")
    assert check.status is Status.SKIPPED
    assert "needs an earlier exercise that is not written yet" in check.message


def test_stand_ins_are_not_there_for_the_exercise_itself(grade_text: GradeText) -> None:
    text = "from exercise1_attention import *\n\n" + RIGHT.replace("def self_attention", "def mine")
    check = find_check(grade_text({"exercise1": text}), "self_attention/shape")
    assert "`self_attention` is not defined" in check.message


# ---- what the child is given -------------------------------------------------------------------


@pytest.mark.parametrize(
    "probe",
    [
        "import os\nassert 'HOME' not in os.environ and 'GRADE_CACHE' not in os.environ",
        "import os\nassert os.listdir('.') == []",
        "import sys\nassert '' not in sys.path and not any('work' in p for p in sys.path[:1])",
        "import sys\nassert sys.stdin.read() == ''",
        "import os\ntry:\n    open('f', 'w').write('x' * 99999)\n    assert False\n"
        "except OSError:\n    pass",
        "import sys\nassert not [m for m in sys.modules if m.startswith(('grader.key',"
        " 'grader.compare', 'grader.course'))]",
        "import torch\nassert torch.get_default_dtype() in (torch.float64, torch.float32)",
    ],
    ids=["environment", "folder", "path", "input", "files", "modules", "dtype"],
)
def test_child_is_given_nothing_of_value(probe: str, grade_text: GradeText) -> None:
    assert_full(grade_text({"exercise1": with_body(probe)}))


def test_child_has_no_pipe_to_another(warm: WarmProcess, folder: CourseFolder) -> None:
    text = GOOD + FIND_PIPE + "\ndef count():\n    return torch.tensor([len(pipes())])\n"
    answers = run(warm, folder, text, [call("1", "count")]).answers
    assert answers["1"].tensors["output/output"].tolist() == [1]


def test_limits_are_positive(folder: CourseFolder) -> None:
    for name, value in folder.course.limits.model_dump().items():
        assert value > 0, name
    with pytest.raises(ValueError, match="greater than 0"):
        Limits.model_validate({**folder.course.limits.model_dump(), "case_seconds": 0})


# ---- notebooks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("x = 1\n", "x = 1\n"),
        ("%matplotlib inline\nx = 1", "pass  # %matplotlib inline\nx = 1"),
        ("!pip install torch", "pass  # !pip install torch"),
        ("if True:\n    !ls\nx = 1", "if True:\n    pass  # !ls\nx = 1"),
        ("files = !ls\nx = 1", "files = None  # !ls\nx = 1"),
        ("?print", "pass  # ?print"),
        ("print?", "pass  # print?"),
        ("%%time\nx = 1", "# %%time\nx = 1"),
        ("%%bash\nrm -r x", "# %%bash\n# rm -r x"),
        ("%%", "# %%"),
        ("x = 5\nx %2", "x = 5\nx %2"),
        ("x = '''\n%d\n''' % 3", "x = '''\n%d\n''' % 3"),
    ],
    ids=[
        "code",
        "line magic",
        "shell",
        "indented",
        "assigned",
        "help",
        "help behind",
        "cell magic",
        "shell cell",
        "bare",
        "modulo",
        "in a string",
    ],
)
def test_neutralize_magics_keeps_code_and_lines(cell: str, code: str) -> None:
    assert neutralize_magics(cell) == code


def test_notebook_error_names_its_cell_and_line(grade: Any, tmp_path: Path) -> None:
    cells = [RIGHT, "def self_attention(x):\n    return x @ missing\n"]
    book = {
        "cells": [
            {
                "cell_type": "code",
                "metadata": {},
                "source": c,
                "outputs": [],
                "execution_count": None,
            }
            for c in cells
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    path = tmp_path / "exercise1_attention.ipynb"
    path.write_text(json.dumps(book), encoding="utf-8")
    message = find_check(grade(path, "exercise1"), "self_attention/shape").message
    assert "at exercise1_attention.ipynb, cell 2, line 2: `return x @ missing`" in message
