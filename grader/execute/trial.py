"""Runs a text that is known, as a submission, to learn what one can do here."""

from collections.abc import Sequence

from grader.course.limits import Limits
from grader.execute.launch import WarmProcess
from grader.execute.session import Job, collect
from grader.records.answers import AnswerStatus
from grader.records.calls import Call
from grader.worker.protocol import Action, TargetKind

_LIMITS = Limits(
    case_seconds=5, target_seconds=30, submission_seconds=60, cpu_seconds=30, data_mib=512,
    answer_mib=1, output_kib=16, message_kib=4, source_kib=64, open_files=64, restarts=1,
)  # fmt: skip


def try_out(warm: WarmProcess, text: str, functions: Sequence[str]) -> list[bool]:
    """Call functions of a text that take nothing and return a tensor; say which returned one."""
    calls = [
        Call(str(n), name, TargetKind.FUNCTION, Action.FORWARD, [], {}, [], ["done"])
        for n, name in enumerate(functions)
    ]
    job = Job("doctor", [("doctor.py", text)], False, {}, {}, [])
    answers = collect(warm, job, calls, b"", _LIMITS).answers
    return [answers[call.id].status is AnswerStatus.OK for call in calls]
