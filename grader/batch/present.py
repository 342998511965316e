"""Which parts of a course a class has handed in anything of."""

from collections.abc import Collection, Mapping, Sequence

from grader.batch.entries import Entry
from grader.course.models import Course, Exercise
from grader.handin.gather import gather
from grader.handin.pick import pick


def exercises_in_use(
    course: Course,
    entries: Sequence[Entry],
    names: Mapping[str, str],
    graded: Collection[str],
) -> list[Exercise]:
    """Return the exercises of the parts that somebody handed in a file of, all where nobody did.

    `graded` are those that there are results of already: they stay with the class. `names` are
    other names of files, by exercise.
    """
    every = list(course.exercises)
    used = set(graded)
    for entry in entries:
        own = [e for e in every if any(one.id in used for one in course.beside(e))]
        if len(own) == len(every):
            break
        files = gather(entry.parts, course.limits.source_kib * 1024).files
        used |= {e.id for e in every if pick(files, e, names.get(e.id, ""))}
    return [e for e in every if any(one.id in used for one in course.beside(e))] or every


def left_out(course: Course, taken: Sequence[Exercise]) -> list[str]:
    """Say of each part that has no exercise among those taken that it is left out."""
    ids = {exercise.id for exercise in taken}
    return [
        f"{part.name} is left out: nobody handed in a file of it"
        for part in course.parts
        if not ids.intersection(part.exercises)
    ]
