"""What a report notes beside the checks: all that was guessed or could not be compared."""

from grader.compare.evidence import Evidence
from grader.compare.outcomes import note_uncompared
from grader.grading.arrangements import shown_guesses
from grader.records.text import clean


def notes_of(evidence: Evidence, *, wrong: bool) -> list[str]:
    """Say what could not be compared, and what was guessed; if values are wrong, of rows too."""
    rows = _note_rows(evidence) if wrong else []
    return [*note_uncompared(evidence), *_note_guesses(evidence), *rows]


def _note_guesses(evidence: Evidence) -> list[str]:
    """Say which layer was taken for which part, where several are alike and no name tells."""
    call = evidence.first_call
    guesses = shown_guesses(call, evidence.answers[call.id].info.bound)
    if not guesses:
        return []
    listed = ", ".join(
        f"`{clean(own, 60)}` as " + ", then ".join(f"`{part}`" for part in parts)
        for own, parts in guesses.items()
    )
    what = "no name tells which is which; taken is the order that fits best"
    return [f"`{call.target}`: {what}: {listed}"]


def _note_rows(evidence: Evidence) -> list[str]:
    """Say which rows of a fused layer were taken for which part: what is named rests on that."""
    call = evidence.first_call
    bound = evidence.answers[call.id].info.bound
    fused = {one.name: one.roles for one in bound if len(one.roles) > 1 and "weight" in one.name}
    return [
        f"`{call.target}`: the rows of `{clean(name, 60)}` are taken as "
        + ", then ".join(f"`{clean(role.rpartition('.')[0] or role, 60)}`" for role in roles)
        for name, roles in fused.items()
    ]
