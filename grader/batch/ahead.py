"""How long a class will take that has models to train, said before it begins."""

import math

from grader.batch.entries import find_entries
from grader.batch.run import BatchRequest
from grader.handin.gather import gather
from grader.handin.pick import pick


def trainings_ahead(request: BatchRequest) -> str:
    """Return one line on the trainings of a class, "" where there is none."""
    course = request.folder.course
    training = [one for one in request.exercises or course.exercises if one.usual_seconds]
    if not request.trains or not training:
        return ""
    entries = find_entries(request.submissions, course)
    limit = course.limits.source_kib * 1024
    handed_in = [
        exercise
        for files in (gather(entry.parts, limit).files for entry in entries)
        for exercise in training
        if pick(files, exercise, request.names.get(exercise.id, ""))
    ]
    if not handed_in:
        return ""
    what = " and ".join(dict.fromkeys(exercise.id for exercise in handed_in))
    seconds = sum(exercise.usual_seconds for exercise in handed_in)
    minutes = math.ceil(seconds / min(request.jobs, len(entries)) / 60)
    return (
        f"{what} trains models: about {minutes} min in all, less what is graded already. "
        "--skip-slow leaves them for a later run."
    )
