"""How far right answers are from the key, in tolerances: the references and every variant."""

from dataclasses import replace
from pathlib import Path

from grader.audit.records import VariantTrial
from grader.audit.variants import try_variant
from grader.course.load import CourseFolder
from grader.execute.launch import WarmProcess
from grader.grading.engine import open_engine


def measure_deviations(
    folder: CourseFolder, variants: Path, warm: WarmProcess
) -> dict[str, VariantTrial]:
    """Grade each reference and each variant, as an audit does; by folder and file."""
    engine = open_engine(folder, folder.course.exercises, warm)
    engine = replace(engine, keys=replace(engine.keys, pairs=lambda _: {}))  # nothing to name
    return {
        f"{path.parent.name}/{path.name}": try_variant(engine, exercise, path)
        for exercise in folder.course.exercises
        for path in [
            folder.solutions / exercise.file,
            *sorted((variants / exercise.id).glob("*.py")),
        ]
    }
