"""What a student waits for: the verdict on a save, and `check` in a notebook."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from classroom import texts_of
from figures import GRADE, ROOT, Figure
from timing import time_against

from grader.bundle.release import make_bundle, write_bundle
from grader.course.load import load_course
from grader.student.start import start_course

_WATCHED = ("exercise1", "exercise3", "exercise7")
_SAVES = 7
_PAIRS = 5
_QUICK = {  # the greatest ratio to `import torch`
    "grade hint exercise3": 0.5,
    "grade explain exercise3": 0.5,
    "grade pack --part part1": 1.0,
    "grade check exercise3 --html page.html": 1.5,
}
_PYTEST = "-m pytest -q -k exercise3 exercises"
_CALLS = """
import sys, time
from pathlib import Path
from grader import check
cells = [Path(sys.argv[2]).read_text("utf-8")]
for number in range(6):
    begun = time.perf_counter()
    check("exercise3", course=sys.argv[1], history=[*cells, f"x = {number}"])
    print(time.perf_counter() - begun, flush=True)
"""


def measure_student() -> list[Figure]:
    """Time saves and calls, each beside an import of torch."""
    return [*(_watch(exercise) for exercise in _WATCHED), _notebook(), *_after_a_check()]


def _after_a_check() -> list[Figure]:
    """Commands on exercises that were checked, each beside an import of torch."""
    folder = load_course(ROOT)
    with tempfile.TemporaryDirectory() as scratch:
        bundle, course = Path(scratch, "bundle"), Path(scratch, "course")
        write_bundle(make_bundle(folder, pairs_of=[]), bundle)
        start_course(course, bundle=bundle)
        for exercise in folder.course.part("part1").exercises:
            text = (folder.solutions / exercise.file).read_bytes()
            (course / "exercises" / exercise.file).write_bytes(text)
        wrong = texts_of(folder, "exercise3")[1][0]
        (course / "exercises" / folder.course.exercise("exercise3").file).write_text(wrong)
        subprocess.run([GRADE, "check", "--all"], cwd=course, capture_output=True, check=False)
        commands = {name: (GRADE, *name.split()[1:]) for name in _QUICK}
        commands[_PYTEST] = (sys.executable, *_PYTEST.split())
        base = (sys.executable, "-c", "import torch")
        timed = time_against(base, commands, pairs=_PAIRS, folder=course)
    return [
        Figure(f"{name}, after a check", timed[name].ratio, "x import torch", target, "")
        for name, target in {**_QUICK, _PYTEST: 2.0}.items()
    ]


def _watch(exercise_id: str) -> Figure:
    """From the save of a file with a known mistake to the verdict on it."""
    folder = load_course(ROOT)
    wrong = texts_of(folder, exercise_id)[1][0]
    ratios, taken = [], []
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, folder.course.exercise(exercise_id).file)
        file.write_text(wrong, encoding="utf-8")
        with _watching(exercise_id, file) as output:
            _wait_for_verdict(output)
            for number in range(_SAVES):
                base = _import_torch()
                new = file.with_suffix(".new")
                new.write_text(f"{wrong}\n# {number}\n", encoding="utf-8")
                begun = time.perf_counter()
                new.replace(file)
                _wait_for_verdict(output)
                taken.append(time.perf_counter() - begun)
                ratios.append(taken[-1] / base)
    return _figure(f"{exercise_id}, from save to verdict", ratios, 0.15, taken)


@contextmanager
def _watching(exercise_id: str, file: Path) -> Iterator[int]:
    """Yield the descriptor on which the verdicts come."""
    command = [GRADE, "check", exercise_id, "--watch", "--submission", str(file)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield process.stdout.fileno()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _wait_for_verdict(output: int) -> None:
    seen = b""
    while b"points" not in seen:
        seen += os.read(output, 1 << 16)


def _notebook() -> Figure:
    """`check` in a notebook, from its second call on."""
    command = [sys.executable, "-c", _CALLS, str(ROOT), str(ROOT / "solutions")]
    command[-1] += f"/{load_course(ROOT).course.exercise('exercise3').file}"
    bases = [_import_torch() for _ in range(3)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    taken = [float(line) for line in done.stdout.split()][1:]
    base = statistics.median([*bases, _import_torch()])
    return _figure("notebook, check from the second call", [t / base for t in taken], 0.5, taken)


def _import_torch() -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    return time.perf_counter() - begun


def _figure(name: str, ratios: list[float], target: float, taken: list[float]) -> Figure:
    note = f"{statistics.median(taken):.3f} s at the median, {max(taken):.3f} s at most"
    return Figure(name, statistics.median(ratios), "x import torch", target, note)
