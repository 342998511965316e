"""Running untrusted code: one answer for each call; forged ones count for nothing."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from support import FIND_PIPE
from support import plain_call as call

from grader.course.load import CourseFolder
from grader.execute.launch import WarmProcess
from grader.execute.session import Collected, Job, collect
from grader.records.answers import AnswerStatus
from grader.records.calls import Call
from grader.worker.protocol import Action, Role, RoleKind, TargetKind, TensorKey


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
    assert answers[late[0]].reason == "all its calls together took more than 1 second"
    assert answers["good"].status is AnswerStatus.OK


def test_session_keeps_the_limit_of_a_submission(warm: WarmProcess, folder: CourseFolder) -> None:
    calls = [call(f"hang {i}", f"hang{i % 5}") for i in range(20)]
    text = "".join(HANG.replace("hang", f"hang{i}") for i in range(5))
    begun = time.monotonic()
    answers = run(warm, folder, text, calls, submission_seconds=1.5).answers
    assert time.monotonic() - begun < 4
    assert len(answers) == 20
    assert {a.status for a in answers.values()} == {AnswerStatus.TIMEOUT}
    assert answers["hang 0"].reason == "no answer within 1 second"
    assert answers["hang 19"].reason == "the whole file took more than 1.5 seconds"


def test_session_keeps_the_limit_of_cpu_seconds(warm: WarmProcess, folder: CourseFolder) -> None:
    answers = run(
        warm, folder, HANG, [call("1", "hang")], cpu_seconds=1, case_seconds=8, restarts=0
    ).answers
    assert answers["1"].status is AnswerStatus.TIMEOUT
    assert answers["1"].reason == "it used more than 1 second of CPU time"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import os\n    os._exit(0)", "ended without an answer"),
        ("import os\n    os.abort()", "it crashed (SIGABRT)"),
        ("import ctypes\n    ctypes.string_at(0)", "it crashed (SIGSEGV)"),
        ("import os\n    os.kill(os.getpid(), 9)", "it crashed (SIGKILL)"),
        ("import os\n    os.closerange(3, 64)", "ended without an answer"),
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
    role = Role("w", (2, 2), RoleKind.LINEAR)
    forward = Call(
        "1", "Linear", TargetKind.MODULE, Action.FORWARD, [], {}, [TensorKey("x")], ["output"],
        [role], {"w": "w"},
    )  # fmt: skip
    gradient = replace(forward, action=Action.GRADIENT, cotangents=["x"])
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


def test_child_has_no_pipe_to_another(warm: WarmProcess, folder: CourseFolder) -> None:
    text = GOOD + FIND_PIPE + "\ndef count():\n    return torch.tensor([len(pipes())])\n"
    answers = run(warm, folder, text, [call("1", "count")]).answers
    assert answers["1"].tensors["output/output"].tolist() == [1]
