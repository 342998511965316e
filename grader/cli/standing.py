"""Gathers how far a student is in a course."""

from grader.course.load import CourseFolder
from grader.progress import digest_of, load_progress
from grader.report.standing import Row
from grader.submission import Source, read_submission


def standing_of(folder: CourseFolder) -> list[Row]:
    """Return one row an exercise; reads the files to tell what changed since it was checked."""
    course = folder.course
    progress = load_progress(folder)
    limit = course.limits.source_kib * 1024
    read = None
    if folder.exercises.is_dir():
        read = read_submission(folder.exercises, course, list(course.exercises), limit)
    rows = []
    for exercise in course.exercises:
        own = progress.of(exercise.id)
        source = (
            read.source(exercise)
            if read
            else Source(exercise.file, problem="exercises/ is missing")
        )
        rows.append(
            Row(
                exercise.id,
                exercise.title,
                own.score if own.graded else None,
                exercise.points,
                passed=own.passed,
                changed=bool(own.graded) and own.graded != digest_of(source),
                missing=source.problem,
                remedy=f"grade reset {exercise.id} begins it anew"
                if source.absent or not read
                else source.next_step,
            )
        )
    return rows
