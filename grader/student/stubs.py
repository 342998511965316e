"""The untouched stub of an exercise: its lesson, whatever stands in the student's file."""

from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.course.shipped import read_bundle_manifest, read_part, stub_name


def untouched_stub(folder: CourseFolder, exercise: Exercise) -> str:
    """Return the bundle's stub, or a source tree's; raises CourseError where it was changed."""
    if folder.shipped:
        name = stub_name(exercise.stem, notebook=False)
        return read_part(folder, read_bundle_manifest(folder), name).decode()
    try:
        return (folder.exercises / exercise.file).read_text(encoding="utf-8")
    except OSError:
        return ""
