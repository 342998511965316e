"""In whose terms the exercises of a course are written."""

from collections.abc import Collection

from grader.course.models import Course
from grader.worker.frameworks import FrameworkName


def frameworks_of(course: Course, exercises: Collection[str] = ()) -> list[FrameworkName]:
    """Return the frameworks of exercises, of all where no ids are named, each once."""
    chosen = [one for one in course.exercises if not exercises or one.id in exercises]
    return list(dict.fromkeys(course.framework_of(one) for one in chosen))


def known_libraries() -> list[str]:
    """Return what any course may need, each once."""
    return list(dict.fromkeys(name for one in FrameworkName for name in one.libraries))


def special_libraries() -> set[str]:
    """Return what some courses need, and others do not."""
    every = [frozenset(one.libraries) for one in FrameworkName]
    return {*known_libraries()} - every[0].intersection(*every)


def libraries_of(course: Course) -> list[str]:
    """Return what has to be installed for all exercises, each once."""
    return list(dict.fromkeys(name for one in frameworks_of(course) for name in one.libraries))
