"""Names the mistake by how many numbers a module registers, whatever its values are."""

from grader.compare.diagnosis import LISTED, Aside
from grader.compare.evidence import Evidence
from grader.compare.signature import sign
from grader.records.answers import Answer, AnswerStatus
from grader.records.results import Diagnosis
from grader.records.signatures import Code, Suspects


def known_structure(evidence: Evidence, aside: Aside) -> Diagnosis | None:
    """Return a diagnosis that names the bugs with which as many numbers are registered.

    They have to agree on every case in which a module comes about, and not with the reference.
    """
    suspects = evidence.key.suspects.get(evidence.target.name)
    if suspects is None or Code.REGISTERED in aside.codes:
        return None
    found = _alike(evidence, suspects)
    if not found or suspects.count_behaviours(found) > LISTED:
        return None
    bugs = [evidence.key.book.by_key(key) for (key,) in found]
    ways = "; or when ".join(dict.fromkeys(bug.when for bug in bugs))
    return Diagnosis(
        target=evidence.target.name,
        bugs=tuple(dict.fromkeys(bug.id for bug in bugs)),
        step="",
        hint=evidence.key.book.named(bugs[0].id, evidence.target.name).hints[0],
        evidence="No known mistake explains all. In every case your module registers as many "
        f"numbers as when {ways}.",
    )


def _alike(evidence: Evidence, suspects: Suspects) -> list[tuple[str, ...]]:
    """The bugs with which as many numbers are registered; none where that many are due."""
    calls, inputs = evidence.calls, evidence.key.plan.tensors
    kept = [row for row, call in enumerate(calls) if _came_about(evidence.answers[call.id])]
    seen, right = (
        sign(calls, answers, inputs, []).codes[kept, Code.REGISTERED]
        for answers in (evidence.answers, evidence.key.answers)
    )
    if not ((seen != right) & (seen >= 0)).any():
        return []  # that nothing came about says nothing of how many they are
    equal = (suspects.codes[:, kept, Code.REGISTERED] == seen).all(axis=1)
    return list(dict.fromkeys(suspects.names[row] for row in equal.nonzero()[0]))


def _came_about(answer: Answer) -> bool:
    """Whether a call shows what is registered, or that what is does not fit."""
    shows = answer.status in (AnswerStatus.OK, AnswerStatus.UNBOUND)
    return shows or answer.info.registered is not None
