"""A course of one function, made in a test: is a text of it judged as it should be?"""

import textwrap
from pathlib import Path

from grader.checks.judge import check_target
from grader.compare.evidence import Evidence
from grader.course.load import CourseFolder, load_course
from grader.handin.read import Source
from grader.key.build import build_answer_key
from grader.key.reference import Reference, make_answer
from grader.records.calls import PUBLIC
from grader.records.results import CheckResult

_COURSE = """\
format_version: 1
title: A small course
tolerances:
  float64: {{rtol: 1.0e-9, atol: 1.0e-9}}
  float32: {{rtol: 1.0e-4, atol: 1.0e-4}}
limits:
  {{case_seconds: 5, target_seconds: 15, submission_seconds: 60, cpu_seconds: 60, data_mib: 1024,
   answer_mib: 4, output_kib: 64, message_kib: 16, source_kib: 2048, open_files: 64, restarts: 1}}
exercises:
  - file: exercise1_small.py
    title: Small
    targets:
      - name: {name}
        kind: function
        dims: {{t: 3..6, k: 7..9}}
        inputs: {{x: "float[t, k]"}}
        outputs: {{output: "float[t, k]"}}
        properties: [{property}]
        points: {{shape: 1, numeric: 2, property: 1}}
"""
_HEAD = _COURSE[: _COURSE.index("      - name:")].format()


def course_text(name: str, prop: str) -> str:
    """Return the course.yml of a course of one function with one property, as text."""
    return _COURSE.format(name=name, property=prop)


def small_course(folder: Path, name: str, reference: str, prop: str) -> CourseFolder:
    """Make a course of one function of x (t, k), with one property; raises CourseError.

    `reference` is the text of its solution, `prop` the property as course.yml has it.
    """
    (folder / "solutions").mkdir()
    (folder / "solutions" / "exercise1_small.py").write_text(reference, encoding="utf-8")
    text = course_text(name, prop)
    (folder / "course.yml").write_text(text, encoding="utf-8")
    return load_course(folder)


def course_of(folder: Path, target: str, reference: str) -> CourseFolder:
    """Make a course of one target, which is given as in course.yml; raises CourseError."""
    (folder / "solutions").mkdir(exist_ok=True)
    (folder / "solutions" / "exercise1_small.py").write_text(reference, encoding="utf-8")
    first, *rest = textwrap.dedent(target).strip().splitlines()
    lines = [f"      - {first}", *(f"        {line}" for line in rest)]
    (folder / "course.yml").write_text(_HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    return load_course(folder)


def judged(course: CourseFolder, text: str) -> dict[str, CheckResult]:
    """Judge a text in this process, and return its checks by their ids in the exercise."""
    (exercise,) = course.course.exercises
    key = build_answer_key(course, exercise, PUBLIC, b"public")
    runner = Reference(exercise, text, course).runner(key.plan.tensors)
    runner.announce(key.plan.calls, [])
    answers = {call.id: make_answer(runner, call) for call in key.plan.calls}
    source = Source(exercise.file, ((exercise.file, text),))
    (target,) = exercise.targets
    evidence = Evidence(course.course, exercise, target, key, source, answers, {}, None, ())
    return {result.id.in_exercise: result for result in check_target(evidence)}
