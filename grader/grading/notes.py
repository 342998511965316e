"""What a report notes beside the checks: all that was guessed or could not be compared."""

from collections.abc import Mapping, Sequence

from grader.compare.evidence import Evidence
from grader.compare.outcomes import note_uncompared
from grader.grading.arrangements import in_one_block, shown_guesses
from grader.records.text import clean


def notes_of(evidence: Evidence, *, wrong: bool) -> list[str]:
    """Say what could not be compared, and what was guessed; if values are wrong, of rows too."""
    call = evidence.bound_call
    bound = in_one_block(call, evidence.answers[call.id].info.bound)
    matrix, lines = evidence.words.matrix, evidence.words.lines
    guesses = shown_guesses(call, bound, matrix=matrix)
    fused = {
        one.name: [role.removesuffix(".weight") for role in one.roles]
        for one in bound
        if len(one.roles) > 1 and matrix in one.name
    }
    rows = [
        f"`{call.target}`: the {lines} of `{clean(name, 60)}` are taken as {_listed(layers)}"
        for name, layers in fused.items()
        if wrong and name.removesuffix(f".{matrix}") not in guesses  # what is named rests on that
    ]
    lone = [name for name, roles in guesses.items() if len(roles) == 1]
    # right values leave one place for the only one beside a fused layer
    told = guesses if wrong or len(lone) > 1 else {}
    asked = _note_required(evidence)
    return [*note_uncompared(evidence), *asked, *_note_guesses(call.target, told), *rows]


def _note_required(evidence: Evidence) -> list[str]:
    """Say which arguments have to be given, though they are None by default."""
    info, target = evidence.answers[evidence.first_call.id].info, evidence.target
    names = [d.name for d in info.defaults if not d.own and target.defaults.get(d.name) is None]
    have = "has" if len(names) == 1 else "have"
    said = f"{have} no default in your code: None is asked for, and was given"
    return [f"`{target.name}`: {_listed(names)} {said}"] if names else []


def _note_guesses(target: str, guesses: Mapping[str, Sequence[str]]) -> list[str]:
    """Say which layer was taken for which part, where several are alike and no name tells."""
    if not guesses:
        return []
    listed = ", ".join(f"`{clean(own, 60)}` as {_listed(parts)}" for own, parts in guesses.items())
    what = "the names do not tell which layer is which; they were taken so"
    return [f"`{target}`: {what}: {listed}"]


def _listed(roles: Sequence[str]) -> str:
    *most, last = (f"`{clean(role, 60)}`" for role in roles)
    return f"{', '.join(most)} and {last}" if most else last
