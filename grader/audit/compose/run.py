"""`grade audit --compose`: draws compositions, has them graded and judged, and adds up.

Drawing is Hypothesis', by a seed: the same seed gives the same compositions, however many processes
judge them. What fails is drawn again by the same seed, and made smaller.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from grader.audit.compose.bench import ToJudge, ToShrink, draw_compositions, open_bench
from grader.audit.compose.material import Composition, Material, load_material
from grader.audit.compose.records import Compositions, Found, Judged, rates_of
from grader.batch.pool import Lost, Pool
from grader.batch.workplace import prepare_keys
from grader.course.load import CourseFolder
from grader.errors import CourseError, InternalError


def run_compositions(
    folder: CourseFolder,
    count: int,
    seed: int,
    jobs: int,
    expect: Callable[[int], None],
    advance: Callable[[str], None],
    on_key: Callable[[str], None] = lambda _: None,
) -> Compositions:
    """Judge `count` compositions of all exercises together; raises GraderError.

    `expect` and `advance` hear of steps to come and steps done, `on_key` of keys that are built.
    """
    known = [load_material(folder, exercise) for exercise in folder.course.exercises]
    materials = {material.exercise.id: material for material in known if material}
    if not materials:
        raise CourseError(f"{folder.solutions / 'compose'} holds nothing to compose of")
    exercises = [material.exercise for material in materials.values()]
    prepare_keys(folder, exercises, on_key, hidden=False)
    shares = {name: len(range(i, count, len(materials))) for i, name in enumerate(materials)}
    pool: Pool[ToJudge | ToShrink, Judged | Found] = Pool(partial(open_bench, folder.root), jobs)
    try:
        drawn = _draw(materials, shares, seed)
        judged = [r for r in _map(pool, drawn, expect, advance) if isinstance(r, Judged)]
        judged.sort(key=lambda one: (one.exercise, one.text))
        searches = _searches(judged, shares, seed)
        found = [r for r in _map(pool, searches, expect, advance) if isinstance(r, Found)]
    finally:
        pool.close()
    return _sum_up(seed, judged, found)


def _draw(materials: dict[str, Material], shares: dict[str, int], seed: int) -> list[ToJudge]:
    return [
        ToJudge(name, made)
        for name, material in materials.items()
        for made in draw_compositions(material, _own_seed(seed, name), shares[name])
    ]


def _own_seed(seed: int, exercise: str) -> int:
    return zlib.crc32(f"{seed} {exercise}".encode())


def _map(
    pool: Pool[ToJudge | ToShrink, Judged | Found],
    units: Sequence[ToJudge | ToShrink],
    expect: Callable[[int], None],
    advance: Callable[[str], None],
) -> Iterator[Judged | Found]:
    """Do units of work; the results come in no particular order."""
    expect(len(units))
    for result in pool.map(units):
        if isinstance(result, Lost):
            raise InternalError(f"{result.unit.exercise}: {result.reason}")
        yield result
        advance(f"compositions of {result.exercise}")


def _searches(judged: Sequence[Judged], shares: dict[str, int], seed: int) -> list[ToShrink]:
    """Return, for each kind of fault, what to make smaller."""
    failing: dict[tuple[str, str, str], set[Composition]] = {}
    for one in judged:
        for fault in one.verdict.faults:
            kind = (one.exercise, fault.kind, fault.target)
            failing.setdefault(kind, set()).add(one.made)
    return [
        ToShrink(name, kind, target, _own_seed(seed, name), shares[name], frozenset(some))
        for (name, kind, target), some in sorted(failing.items())
    ]


def _sum_up(seed: int, judged: Sequence[Judged], found: Sequence[Found]) -> Compositions:
    namings = [naming for one in judged for naming in one.verdict.namings]
    missed = Counter(
        f"{naming.target}/{bug}"
        for naming in namings
        if len(naming.acting) == 1
        for bug in naming.acting - naming.named
    )
    kept = [share for one in judged for share in one.verdict.kept]
    return Compositions(
        seed=seed,
        count=len(judged),
        false=sum(bool(one.verdict.faults) for one in judged),
        found=tuple(sorted(found, key=lambda f: (f.exercise, f.target, f.kind))),
        rates=rates_of(namings),
        kept=sum(kept) / len(kept) if kept else 1.0,
        missed=tuple(missed.most_common()),
    )
