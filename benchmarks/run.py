"""Measures the project's figures against their targets: `make bench`.

Times are ratios to `python -c "import torch"`, taken in interleaved pairs within one run, since
seconds differ from machine to machine. The exit status is 0 even where a target is missed.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from math import isfinite
from pathlib import Path

from batch import measure_batch
from deviation import measure_deviations
from figures import GRADE, ROOT, Figure
from gradebook import measure_pinned
from student import measure_student
from timing import time_against

from grader.audit.records import VariantTrial
from grader.course.load import load_course
from grader.errors import GraderError
from grader.execute.launch import WarmProcess
from grader.key.cache import load_keys
from grader.records.calls import HIDDEN, PUBLIC

_IMPORT_TORCH = (sys.executable, "-c", "import torch")
_COMMANDS = {  # what is timed, and the greatest ratio to `import torch`
    "grade check exercise3, the reference": (("check", "3", "--submission", "solutions"), 1.3),
    "grade check exercise3, the stub": (("check", "3", "--submission", "exercises"), 1.3),
    "grade --help": (("--help",), 0.2),
}


def measure_key() -> list[Figure]:
    """Time the building of the whole key, both splits, into an empty cache."""
    folder = load_course(ROOT)
    ids = [exercise.id for exercise in folder.course.exercises]
    begun = time.perf_counter()
    load_keys(folder, ids, PUBLIC)
    public = time.perf_counter() - begun
    load_keys(folder, ids, HIDDEN, secret=b"a benchmark's secret")
    both = time.perf_counter() - begun
    note = f"public {public:.1f} s, hidden {both - public:.1f} s"
    return [Figure("the whole key from nothing, both splits", both, "s", 30, note)]


def measure_times(pairs: int) -> list[Figure]:
    """Time commands against the import of torch; the key is in the cache by now."""
    commands = {name: (GRADE, *arguments) for name, (arguments, _) in _COMMANDS.items()}
    timed = time_against(_IMPORT_TORCH, commands, pairs=pairs, folder=ROOT)
    return [
        Figure(
            name,
            timed[name].ratio,
            "x import torch",
            target,
            f"{timed[name].median:.2f} s over {timed[name].base:.2f} s, "
            f"quartiles {timed[name].spread[0]:.2f} to {timed[name].spread[1]:.2f}",
        )
        for name, (_, target) in _COMMANDS.items()
    ]


def measure_closeness() -> list[Figure]:
    """Measure how far references and variants are from the key, in tolerances."""
    warm = WarmProcess()
    try:
        tried = measure_deviations(load_course(ROOT), ROOT / "tests" / "variants", warm)
    finally:
        warm.close()
    references = {file: t for file, t in tried.items() if file.startswith("solutions/")}
    variants = {file: t for file, t in tried.items() if file not in references}
    return [
        _farthest("the references' deviation from the key", references),
        *(
            _farthest(
                f"the {precision} variants' deviation",
                {f: t for f, t in variants.items() if t.deviation.precision == precision},
            )
            for precision in ("float64", "float32")
        ),
    ]


def _farthest(name: str, tried: dict[str, VariantTrial]) -> Figure:
    """Make the figure; a file that loses a check is infinitely far."""
    file, farthest = max(tried.items(), key=lambda item: _apart(item[1]))
    note = f"{len(tried)} files"
    if _apart(farthest):
        where = ", ".join(map(str, farthest.lost)) or farthest.deviation.where
        note += f", the farthest {file}: {where}"
    return Figure(name, _apart(farthest), "tolerances", 0.1, note)


def _apart(trial: VariantTrial) -> float:
    return float("inf") if trial.lost else trial.deviation.most


def measure_beside_nbgrader() -> list[Figure]:
    """Time `grade batch` against nbgrader's stock kernel on the same notebooks and core."""
    (row,) = measure_pinned(240)
    share = 1 / row.measured
    return [Figure("grade batch / nbgrader's stock kernel", share, "x", 0.01, row.note)]


def describe_machine() -> dict[str, str]:
    """Return what the figures were measured on."""
    return {
        "cpu": _cpu_model(),
        "cores": str(os.cpu_count()),
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "grader": version("grader"),
    }


def _cpu_model() -> str:
    """Return the CPU's name, as well as this system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    if sys.platform == "darwin":
        asked = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return platform.processor() or platform.machine()


def render(machine: dict[str, str], figures: Sequence[Figure]) -> str:
    """Return the table, a figure a line with its note below."""
    lines = [
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"Python {machine['python']}, torch {machine['torch']}, grader {machine['grader']}",
        "",
        f"{'figure':<42}{'measured':>10}{'at most':>9}  {'unit':<15}",
    ]
    for figure in figures:
        verdict = "ok" if figure.reached else "MISSED"
        lines += [
            f"{figure.name:<42}{figure.measured:>10.3g}{figure.target:>9g}  "
            f"{figure.unit:<15} {verdict}",
            f"  {figure.note}",
        ]
    missed = sum(not figure.reached for figure in figures)
    total = f"{missed} of {len(figures)} targets MISSED" if missed else "all targets reached"
    return "\n".join([*lines, "", total])


def _to_json(figure: Figure) -> dict[str, object]:
    measured = figure.measured if isfinite(figure.measured) else None  # JSON knows no infinity
    return {**asdict(figure), "measured": measured, "reached": figure.reached}


def main() -> int:
    """Measure, and print a table or a JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--pairs", type=int, default=9, help="timed pairs a command (default 9)")
    parser.add_argument("--only", help="the one part to measure, by a word of its name")
    arguments = parser.parse_args()
    figures: list[Figure] = []
    parts: list[tuple[str, Callable[[], list[Figure]]]] = [
        ("building the key", measure_key),
        ("timing commands", lambda: measure_times(max(1, arguments.pairs))),
        ("timing what a student waits for", measure_student),
        ("grading classes", measure_batch),
        ("grading beside nbgrader", measure_beside_nbgrader),
        ("comparing references and variants with the key", measure_closeness),
    ]
    with tempfile.TemporaryDirectory(prefix="grade-bench-") as cache:
        os.environ["GRADE_CACHE"] = cache
        for what, measure in parts:
            if arguments.only and arguments.only not in what:
                continue
            print(f"{what} ...", file=sys.stderr)
            try:
                figures += measure()
            except GraderError as error:
                figures.append(Figure(what, float("inf"), "", 0, f"not measured: {error}"))
    machine = describe_machine()
    if arguments.json:
        shown = [_to_json(figure) for figure in figures]
        print(json.dumps({"machine": machine, "figures": shown}, indent=2, allow_nan=False))
    else:
        print(render(machine, figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
