"""How long a class will take that has models to train, said before it begins."""

import math
from collections.abc import Mapping, Sequence

from grader.batch.entries import Entry
from grader.course.models import Course, Exercise
from grader.handin.gather import gather
from grader.handin.pick import pick


def trainings_ahead(
    course: Course,
    entries: Sequence[Entry],
    exercises: Sequence[Exercise],
    names: Mapping[str, str],
    jobs: int,
) -> str:
    """Return one line on what `exercises` train in a class, "" where that is nothing.

    `names` are other names of their files; `jobs` are as many as grade at once.
    """
    training = [exercise for exercise in exercises if exercise.usual_seconds]
    if not training:
        return ""
    limit = course.limits.source_kib * 1024
    handed_in = [
        exercise
        for files in (gather(entry.parts, limit).files for entry in entries)
        for exercise in training
        if pick(files, exercise, names.get(exercise.id, ""))
    ]
    if not handed_in:
        return ""
    what = " and ".join(dict.fromkeys(exercise.id for exercise in handed_in))
    seconds = sum(exercise.usual_seconds for exercise in handed_in)
    minutes = math.ceil(seconds / min(jobs, len(entries)) / 60)
    return (
        f"{what} trains models: about {minutes} min in all, less what is graded already. "
        "--skip-slow leaves them for a later run."
    )
