"""Grades compositions as anybody's submission, and judges the reports; for a process of its own."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from grader.audit.compose.draw import compositions
from grader.audit.compose.material import Composition, Material, Plant, load_material
from grader.audit.compose.oracle import Oracle
from grader.audit.compose.records import Found, Judged
from grader.audit.compose.verdict import Report, judge_report
from grader.course.derive import read_solution
from grader.course.lesson import Passage, read_lesson
from grader.course.load import CourseFolder, load_course
from grader.course.models import Exercise
from grader.errors import CourseError
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine, open_engine
from grader.grading.trace import Trace, trace_target
from grader.handin.read import Source, Submission
from grader.records.results import Status
from grader.student.hints import next_hint

_PATIENCE = 20  # draws for each distinct composition
_SHRINKS = 80  # compositions that are graded to make one smaller
_ALIKE = 4  # compositions with the same plant, or with none; of the same plants there is one


@dataclass(frozen=True)
class ToJudge:
    """A composition to grade and judge."""

    exercise: str
    made: Composition


@dataclass(frozen=True)
class ToShrink:
    """A fault of which the smallest composition is wanted."""

    exercise: str
    kind: str
    target: str
    seed: int
    count: int  # of compositions that were drawn by the seed
    failing: frozenset[Composition]  # of those, the ones that have the fault


class _FoundOne(Exception):
    """Tells Hypothesis that this composition is the one that was looked for."""


def draw_compositions(material: Material, number: int, count: int) -> list[Composition]:
    """Return `count` compositions by a seed, no two of one text; fewer where there are no more.

    Hypothesis likes to draw what is like the last: rates would be those of a few sets of plants.
    """
    texts: dict[str, Composition] = {}
    sets: Counter[frozenset[Plant]] = Counter()

    def note(made: Composition) -> None:
        text, plants = material.text(made), frozenset(made.plants)
        if text not in texts and sets[plants] < (1 if len(plants) > 1 else _ALIKE):
            texts[text] = made
            sets[plants] += 1
        if len(texts) == count:
            raise _FoundOne

    _search(material, number, count, (Phase.generate,), note)
    return list(texts.values())


def _search(
    material: Material,
    number: int,
    count: int,
    phases: tuple[Phase, ...],
    on_drawn: Callable[[Composition], None],
) -> None:
    @settings(
        max_examples=_PATIENCE * count,
        phases=phases,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @seed(number)
    @given(compositions(material))
    def drawn(made: Composition) -> None:
        on_drawn(made)

    with contextlib.suppress(_FoundOne):
        drawn()


@contextlib.contextmanager
def open_bench(course: Path) -> Iterator[Callable[[ToJudge | ToShrink], Judged | Found]]:
    """Give what judges compositions and makes them smaller, in a process of its own."""
    import torch

    from grader.key.reference import reference_imports

    torch.set_num_threads(1)
    folder = load_course(course)
    warm = WarmProcess()
    stands: dict[str, Stand] = {}

    def work(unit: ToJudge | ToShrink) -> Judged | Found:
        if unit.exercise not in stands:
            stands[unit.exercise] = open_stand(folder, unit.exercise, warm)
        stand = stands[unit.exercise]
        return stand.judge(unit.made) if isinstance(unit, ToJudge) else stand.shrink(unit)

    try:
        with reference_imports(folder):
            yield work
    finally:
        warm.close()


def open_stand(folder: CourseFolder, name: str, warm: WarmProcess) -> "Stand":
    """Return what judges compositions of one exercise; raises GraderError."""
    exercise = folder.course.exercise(name)
    material = load_material(folder, exercise)
    if material is None:
        raise CourseError(f"{name} has no material to compose of")
    engine = open_engine(folder, [exercise], warm)
    solution = read_solution(folder.solutions / exercise.file)
    oracle = Oracle(folder, exercise, engine.keys.keys[name], material, solution)
    return Stand(folder, exercise, material, engine, oracle, read_lesson(solution))


@dataclass
class Stand:
    """One exercise, ready to grade and to judge."""

    folder: CourseFolder
    exercise: Exercise
    material: Material
    engine: Engine
    oracle: Oracle
    lesson: list[Passage]
    judged: dict[Composition, Judged] = field(default_factory=dict)

    def judge(self, made: Composition) -> Judged:
        """Grade a composition, and judge all that its author is told."""
        if made not in self.judged:
            text = self.material.text(made)
            verdict = judge_report(self.oracle, made, self.report(text))
            self.judged[made] = Judged(self.exercise.id, made, text, verdict)
        return self.judged[made]

    def shrink(self, wanted: ToShrink) -> Found:
        """Find the smallest composition with a fault, as far as it is found in a while."""
        tried = dict.fromkeys(wanted.failing, True)
        most = len(tried) + _SHRINKS
        found: list[Composition] = []

        def note(made: Composition) -> None:
            if found and made not in tried:  # it is being made smaller
                tried[made] = len(tried) < most and self.has(made, wanted)
            if tried.get(made):
                found.append(made)
                raise _FoundOne

        phases = (Phase.generate, Phase.shrink)
        _search(self.material, wanted.seed, wanted.count, phases, note)
        if not found:  # Hypothesis draws by what is imported as well: another process, other draws
            found = [min(wanted.failing, key=lambda m: (len(m.plants), self.material.text(m)))]
        kind = (wanted.exercise, wanted.target, wanted.kind)
        return Found(*kind, len(wanted.failing), self.judge(found[-1]))

    def has(self, made: Composition, wanted: ToShrink) -> bool:
        """Whether the report on a composition has the fault that is looked for."""
        faults = self.judge(made).verdict.faults
        return any((f.kind, f.target) == (wanted.kind, wanted.target) for f in faults)

    def report(self, text: str) -> Report:
        """Grade a text, and gather all that its author is told."""
        run = self.engine.run(self.exercise, Submission(self._sources(text)), quick=True)
        traces: dict[str, Trace] = {}
        for group in run.result.targets:
            if group.status is not Status.PASSED:
                target = self.exercise.target(group.name)
                if trace := trace_target(target, run):
                    traces[target.name] = trace
        key = self.engine.keys.keys[self.exercise.id]
        advice = next_hint(self.exercise, key, run.result, self.lesson)
        beside = {name: one.parts for name, one in run.beside.items()}
        return Report(run.result, traces, advice, beside)

    def _sources(self, text: str) -> dict[str, Source]:
        own = Source(self.exercise.file, ((self.exercise.file, text),))
        return {**self._others, self.exercise.id: own}

    @cached_property
    def _others(self) -> dict[str, Source]:
        """The references of the earlier exercises; later ones are not there."""
        course = self.folder.course
        absent = {e.id: Source(e.file, problem="not handed in") for e in course.exercises}
        earlier = {
            e.id: Source(e.file, ((e.file, read_solution(self.folder.solutions / e.file)),))
            for e in course.earlier(self.exercise)
        }
        return absent | earlier
