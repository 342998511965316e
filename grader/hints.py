"""Hints by degrees, from gentle to plain: from the diagnosis at hand, or from the lesson."""

import re
from collections import Counter
from dataclasses import dataclass
from math import log, sqrt

from grader.course.models import Exercise, Target
from grader.key.store import AnswerKey
from grader.plan.records import DrawnCase
from grader.records import CheckResult, Diagnosis, ExerciseResult, Kind, Status

_WORD = re.compile(r"[A-Za-z_]{3,}")
_BRIEF = 8  # different words; a shorter passage says too little to be sent to
_NEAR = 2.6  # a passage this near to a text is about the same matter


@dataclass(frozen=True)
class Passage:
    """A paragraph or bullet of a lesson."""

    section: str  # the heading that it stands under
    text: str
    line: int  # in the stub, from 1


@dataclass(frozen=True)
class Advice:
    """All that can be told about one target's trouble, from gentle to plain."""

    target: str
    topic: str  # what the hints are about: a known bug, a step, a check
    finding: str  # what is known, one sentence; may be ""
    hints: tuple[str, ...]
    lesson: Passage | None


def read_lesson(stub: str) -> list[Passage]:
    """Return a lesson's paragraphs and bullets, in order."""
    passages: list[Passage] = []
    section, text, start, fenced = "", "", 0, False
    for number, line in enumerate([*stub.splitlines(), "# %%"], start=1):
        body = line[2:] if line.startswith("# ") else ""
        fenced ^= body.startswith("```")
        ends = not line.startswith("#") or not body or body.startswith(("#", "- ", "|", "%%"))
        if text and ends:
            passages.append(Passage(section, text, start))
            text = ""
        if body.startswith("#"):
            section = body.lstrip("# ").strip()
        elif body and not fenced and not body.startswith(("%%", "|", "```", "$$")):
            start = start if text else number
            text = f"{text} {body.strip().removeprefix('- ')}".strip()
    return passages


def advise(
    exercise: Exercise, key: AnswerKey, result: ExerciseResult, lesson: list[Passage]
) -> Advice | None:
    """Return advice on the first target that is not right, None where all is."""
    for target in exercise.targets:
        checks = [check for check in result.checks if check.target == target.name]
        failed = [check for check in checks if check.status is not Status.PASSED]
        if not failed:
            continue
        found = [d for d in result.diagnoses if d.target == target.name]
        if found and found[0].bugs:
            return _of_bug(target, key, found[0], lesson)
        if found:
            return _of_step(target, found[0], lesson)
        first = next((c for c in failed if c.kind is not Kind.BUG and c.message), failed[0])
        if "not written yet" in first.message:
            return _unwritten(target, key, lesson)
        return _of_check(target, first, lesson)
    return None


def _of_bug(target: Target, key: AnswerKey, diagnosis: Diagnosis, lesson: list[Passage]) -> Advice:
    bugs = {bug.id: bug for bug in key.book.bugs if bug.target == target.name}
    others = {bug.id: bug for bug in key.book.bugs}
    bug = bugs.get(diagnosis.bugs[0]) or others[diagnosis.bugs[0]]
    words = " ".join([bug.title, bug.when, bug.step, *bug.hints])
    return Advice(
        target.name,
        "+".join(diagnosis.bugs),
        diagnosis.evidence,
        bug.hints,
        find_passage(lesson, words) or _section(target, lesson),
    )


def _of_step(target: Target, diagnosis: Diagnosis, lesson: list[Passage]) -> Advice:
    step = diagnosis.step
    further = (
        f"Print `{step}` for the smallest case, and work the same numbers out by hand.",
        "Lay the shapes of your run beside those expected: grade explain shows them.",
    )
    passage = find_passage(lesson, step)
    return Advice(
        target.name, f"step {step}", diagnosis.evidence, (diagnosis.hint, *further), passage
    )


def _unwritten(target: Target, key: AnswerKey, lesson: list[Passage]) -> Advice:
    """For a blank: where the lesson speaks of it, then its steps, then their shapes."""
    hints = ["Begin with the docstring: it says what goes in and what comes out."]
    levels = [" and ".join(level) for level in target.step_levels]
    if levels:
        hints.append(f"Go step by step: {', then '.join(levels)}.")
    if shapes := _step_shapes(target, key):
        hints.append(shapes)
    return Advice(target.name, "not written yet", "", tuple(hints), _section(target, lesson))


def _section(target: Target, lesson: list[Passage]) -> Passage | None:
    return next((p for p in lesson if f"{target.name}(" in p.section), None)


def _step_shapes(target: Target, key: AnswerKey) -> str:
    cases: list[DrawnCase] = key.plan.numeric_cases(target.name)
    call = next((f"{target.name}/{c.id}/forward" for c in cases if c.id.startswith("main")), "")
    if call not in key.answers:
        return ""
    dims = key.plan.cases[call.removesuffix("/forward")].dims
    sizes = ", ".join(f"{name}={size}" for name, size in dims.items())
    steps = key.steps(call)
    shapes = ", ".join(f"{n} {steps[n].shape}" for n in target.step_names if n in steps)
    return f"For {sizes} the shapes are: {shapes}." if shapes else ""


def _of_check(target: Target, check: CheckResult, lesson: list[Passage]) -> Advice:
    hints = [f"{check.next_step[:1].upper()}{check.next_step[1:]}."] if check.next_step else []
    hints.append("Lay the shapes of your run beside those expected: grade explain shows them.")
    name = check.id.split("/", 2)[2]
    finding = f"{check.message[:1].upper()}{check.message[1:]}."
    passage = find_passage(lesson, f"{name} {check.message}")
    return Advice(target.name, name, finding, tuple(hints), passage)


def find_passage(lesson: list[Passage], words: str) -> Passage | None:
    """Return the passage nearest to a text by its rare words, None where none is near."""
    bags = [_words(passage.text) for passage in lesson]
    count = Counter(word for bag in bags for word in bag)
    rarity = {word: log(len(bags) / number) ** 2 for word, number in count.items()}
    wanted = _words(words)
    nearness = [
        0.0
        if len(bag) < _BRIEF
        else sum(rarity[word] for word in bag & wanted)
        / sqrt(sum(rarity[word] for word in bag) or 1)
        for bag in bags
    ]
    best = max(range(len(lesson)), key=nearness.__getitem__, default=-1)
    return lesson[best] if best >= 0 and nearness[best] >= _NEAR else None


def _words(text: str) -> set[str]:
    return {word.lower().rstrip("s") for word in _WORD.findall(text)}
