"""What a child is to run: a submission's text, what its imports find, and the course's data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader.course.data import read_data
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.course.shipped import read_standins
from grader.execute.session import Job
from grader.handin.read import Submission
from grader.records.key import AnswerKey
from grader.worker.data import DataFiles
from grader.worker.loading import STANDIN_LABEL
from grader.worker.protocol import Earlier, Units


@dataclass(frozen=True)
class Standins:
    """What submissions get of a course: what later exercises import, by file stem, and its data."""

    sources: Mapping[str, str]
    data: DataFiles | None = None

    @staticmethod
    def of(folder: CourseFolder) -> "Standins":
        """Read them of a course; raises CourseError."""
        return Standins(read_standins(folder), read_data(folder))

    def earlier(self, exercises: Iterable[Exercise]) -> dict[str, Units]:
        """Return the units that importing these exercises runs."""
        return {
            e.stem: [(f"{STANDIN_LABEL}{e.stem}", self.sources[e.stem])]
            for e in exercises
            if e.stem in self.sources
        }


def job_kinds(key: AnswerKey) -> list[Earlier]:
    """Return what imports of earlier exercises find, a child each: stand-ins come first."""
    return sorted({call.earlier for call in key.plan.calls}, reverse=True)


def job_of(
    folder: CourseFolder,
    exercise: Exercise,
    kind: Earlier,
    standins: Standins,
    submission: Submission,
) -> Job:
    """Return what a child runs for some targets of an exercise."""
    before = folder.course.earlier(exercise)
    source = submission.source(exercise)
    earlier = standins.earlier(before)
    own: dict[str, Units] = {}
    if exercise.builds_on_earlier:
        own = {
            e.stem: submission.source(e).units for e in before if not submission.source(e).problem
        }
    return Job(
        exercise.stem,
        source.units,
        source.notebook,
        own if kind is Earlier.OWN else earlier,
        own,
        exercise.forbidden_for(*exercise.targets),
        standins.data,
        framework=folder.course.framework_of(exercise),
    )
