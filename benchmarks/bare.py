"""Runs the submissions of a class on the public cases, in one process, with nothing around them.

What the grader's time is measured against: no isolation, no comparison, no report.
"""

import contextlib
import io
import sys
from pathlib import Path

import torch
from safetensors.torch import load

from grader.course.load import load_course
from grader.course.models import Exercise
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine, open_engine
from grader.grading.jobs import job_kinds, job_of
from grader.handin.read import Submission, read_submission
from grader.worker.harness import Session


def run_bare(engine: Engine, exercise: Exercise, submission: Submission) -> int:
    """Make every call of an exercise, and return how many."""
    key, course = engine.keys.keys[exercise.id], engine.folder.course
    made = 0
    for kind in job_kinds(key):
        calls = [call for call in key.plan.calls if call.earlier is kind]
        job = job_of(engine.folder, exercise, kind, engine.standins, submission)
        session = Session(job.sent("float64", course.limits), calls, load(key.payload))
        made += sum(bool(session.answer(call)) for call in calls)
        session.close()
    return made


def main() -> None:
    """Run the class in the folder that is named."""
    root, place = map(Path, sys.argv[1:3])
    torch.set_num_threads(1)
    folder = load_course(root)
    warm = WarmProcess()  # only so that the engine opens; it serves nothing
    warm.close()
    engine = open_engine(folder, folder.course.exercises, warm)
    limit = folder.course.limits.source_kib * 1024
    made = 0
    for student in sorted(place.iterdir()):
        submission = read_submission(student, folder.course, folder.course.exercises, limit)
        for exercise in folder.course.exercises:
            with contextlib.redirect_stdout(io.StringIO()):
                made += run_bare(engine, exercise, submission)
    print(made)


if __name__ == "__main__":
    main()
