"""Reads one student's submission: what was handed in, once, into plain data."""

from collections.abc import Mapping
from dataclasses import dataclass

from grader.batch.entries import Entry
from grader.course.models import Course
from grader.handin.gather import Gathered, gather
from grader.handin.read import Submission, submission_of
from grader.records.text import clean, listed


@dataclass(frozen=True)
class Handed:
    """What a student handed in, as plain data."""

    submission: Submission
    notes: tuple[str, ...]  # what a person should know, the refusals among them


def read_entry(entry: Entry, course: Course, names: Mapping[str, str] = {}) -> Handed:
    """Read a submission; whatever is wrong with it becomes a problem or a note.

    `names` are other names of exercises' files, by exercise.
    """
    limit = course.limits.source_kib * 1024
    found = gather(entry.parts, limit)
    submission = submission_of(found, "handed in", course, limit, names)
    notes = [*entry.notes, *submission.notes]
    if all(source.absent for source in submission.sources.values()):
        notes.append(_nothing_of_the_course(found))
    return Handed(submission, tuple(notes))


def _nothing_of_the_course(found: Gathered) -> str:
    """Say what was handed in where no exercise's file was: it may be work under another name."""
    names = sorted(found.files) or sorted(found.others)
    shown = listed([clean(name, 80) for name in names]) or "no .py file or notebook"
    told = f"no exercise's file was handed in, but {shown}"
    return f"{told}: give files the names of the stubs, or say --file EXERCISE=NAME"
