"""The report that a student reads in a terminal."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import click

from grader.records import CheckResult, Diagnosis, Document, ExerciseResult, Kind, Status

MARKS = {
    Status.PASSED: ("✓", "green"),
    Status.FAILED: ("✗", "red"),
    Status.SKIPPED: ("–", "yellow"),
    Status.TIMEOUT: ("⧖", "red"),
    Status.ERROR: ("!", "magenta"),
}
_SHOWN = 4  # different failures of a target that are shown in full
_INPUT = 120  # characters of an input that are shown
_PRINTED = 5  # lines of the submission's own output


def render_document(document: Document, *, width: int = 80) -> str:
    """Return the whole report, with ANSI colours that click strips where there is no terminal."""
    parts = [render_result(result, width=width) for result in document.results]
    if len(document.results) > 1:
        score = sum(result.score for result in document.results)
        possible = sum(result.max_score for result in document.results)
        parts.append("\n".join(heading("together", "", score, possible, width)))
    return "\n\n".join(parts) + "\n"


def render_result(result: ExerciseResult, *, width: int = 80) -> str:
    """Return the report of one exercise."""
    lines = heading(result.exercise, result.title, result.score, result.max_score, width)
    targets = list(dict.fromkeys(check.target for check in result.checks))
    if reason := sole_reason(result):
        lines += ["", *failure_lines(reason, width, named=False)]
        targets = []
    for target in targets:
        checks = [check for check in result.checks if check.target == target]
        diagnoses = [d for d in worded(result.diagnoses) if d.target == target]
        lines += ["", *target_lines(target, checks, diagnoses, width)]
    if result.output:
        printed = result.output.splitlines()
        lines += ["", click.style("  Your code printed:", dim=True)]
        lines += [click.style(f"    {line}", dim=True) for line in printed[:_PRINTED]]
    for note in result.notes:
        lines += wrapped(f"{note}.", width, first="  Note: ", hang=8)
    if result.status is Status.PASSED:
        lines += ["", click.style(f"  All {len(result.checks)} checks pass.", fg="green")]
    return "\n".join(lines)


def sole_reason(result: ExerciseResult) -> CheckResult | None:
    """Return the one failure that all of an exercise comes down to, such as a file not there."""
    failed = [c for c in result.checks if c.status is not Status.SKIPPED and c.kind is not Kind.BUG]
    if len({(check.status, check.message) for check in failed}) != 1 or not failed[0].message:
        return None
    several = len({check.target for check in failed}) > 1
    return failed[0] if several or f"`{failed[0].target}`" not in failed[0].message else None


def heading(name: str, title: str, score: float, possible: float, width: int) -> list[str]:
    """Return an exercise's first line, or more where the terminal is narrow."""
    left = f"{name}  {title}" if title else name
    right = f"{number(score)} / {number(possible)} points"
    if len(left) + len(right) + 2 <= width:
        lines = [f"{left}{' ' * (width - len(left) - len(right))}{right}"]
    else:
        lines = [*wrapped(left, width), f"{right:>{width}}"]
    return [click.style(line, bold=True) for line in lines]


def target_lines(
    target: str, checks: Sequence[CheckResult], diagnoses: Sequence[Diagnosis], width: int
) -> list[str]:
    """Return the paragraph of one target."""
    score, possible = sum(c.score for c in checks), sum(c.max_score for c in checks)
    name = f"  {target}"
    right = f"{number(score)} / {number(possible)}"
    lines = [f"{name}{' ' * max(2, width - len(name) - len(right) - 7)}{right}"]
    lines += _summary_lines([_kind_summary(kind, checks) for kind in _kinds(checks)], width)
    for diagnosis in diagnoses:
        lines += _diagnosis_lines(diagnosis, width)
    shown = distinct_failures(checks)
    for check in shown[:_SHOWN]:
        lines += ["", *failure_lines(check, width)]
    if len(shown) > _SHOWN:
        lines.append(f"      and {len(shown) - _SHOWN} more; --json lists them all")
    return lines


def _summary_lines(summaries: Sequence[str], width: int) -> list[str]:
    """Set the kinds side by side, in as many lines as the width asks for."""
    lines = ["   "]
    for summary in summaries:
        if len(click.unstyle(lines[-1])) + len(click.unstyle(summary)) + 3 > width:
            lines.append("   ")
        lines[-1] += f"{'   ' if lines[-1].strip() else ' '}{summary}"
    return lines


def _kinds(checks: Sequence[CheckResult]) -> list[Kind]:
    return list(dict.fromkeys(check.kind for check in checks))


def _kind_summary(kind: Kind, checks: Sequence[CheckResult]) -> str:
    """`✓ numeric 4/4`; several checks of a kind are counted."""
    own = [check for check in checks if check.kind is kind]
    mark, colour = MARKS[Status.worst(check.status for check in own)]
    points = f"{number(sum(c.score for c in own))}/{number(sum(c.max_score for c in own))}"
    return f"{click.style(mark, fg=colour)} {kind.value} {points}"


def distinct_failures(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """The failed checks, the first of each message; bug checks only repeat the others."""
    seen: set[str] = set()
    kept = []
    for check in checks:
        if check.status in (Status.PASSED,) or check.kind is Kind.BUG:
            continue
        if check.status is Status.SKIPPED and check.kind is not Kind.NUMERIC:
            continue
        if check.message not in seen:
            seen.add(check.message)
            kept.append(check)
    return kept


def failure_lines(check: CheckResult, width: int, *, named: bool = True) -> list[str]:
    """Return one failure: the sentence, its case, and the next step."""
    mark, colour = MARKS[check.status]
    name = check.id.split("/", 2)[2].replace("property/", "")
    head = f"    {click.style(mark, fg=colour)} "
    head += f"{click.style(name, bold=True)}: " if named else ""
    hang = len(click.unstyle(head))
    lines = wrapped(check.message.rstrip(".") + ".", width, first=head, hang=hang)
    if shown := shown_case(check):
        lines += _labelled("case", shown, width)
    if check.next_step:
        lines += _labelled("next", ended(check.next_step), width)
    return lines


def _diagnosis_lines(diagnosis: Diagnosis, width: int) -> list[str]:
    lines = ["", *wrapped(diagnosis.evidence, width, first="    ▸ ", hang=6)]
    if diagnosis.hint:
        lines += _labelled("hint", diagnosis.hint, width)
    return lines


def ended(sentence: str) -> str:
    """Return a sentence with its full stop, or the question mark that it has."""
    return sentence if sentence.endswith(("?", ".")) else f"{sentence}."


def worded(diagnoses: Sequence[Diagnosis]) -> list[Diagnosis]:
    """Return diagnoses as they are told: a mistake that stood in an earlier target only once."""
    first: dict[tuple[str, ...], str] = {}
    told = []
    for diagnosis in diagnoses:
        target = first.setdefault(diagnosis.bugs or (diagnosis.target,), diagnosis.target)
        if target != diagnosis.target:
            said = f"The same mistake as in `{target}`."
            diagnosis = replace(diagnosis, evidence=said, hint="")
        told.append(diagnosis)
    return told


def shown_case(check: CheckResult) -> str:
    """Return a case in words: its name, sizes, options and, where they are small, inputs."""
    if not check.case:
        return ""
    dims = ", ".join(f"{name}={size}" for name, size in check.case["dims"].items())
    options = "".join(f", {name}={value!r}" for name, value in check.case["options"].items())
    inputs = "".join(f"; {name} = {_brief(v)}" for name, v in check.case.get("inputs", {}).items())
    return f"{check.case['name']} ({dims}{options}){inputs}"


def _brief(values: object) -> str:
    text = str(values).replace(".0", "")
    return text if len(text) <= _INPUT else f"{text[: _INPUT - 1]}…"


def _labelled(label: str, text: str, width: int) -> list[str]:
    first = f"      {click.style(label, dim=True)}  "
    return wrapped(text, width, first=first, hang=8 + len(label))


def wrapped(text: str, width: int, *, first: str = "", hang: int = 0) -> list[str]:
    """Wrap `text` behind `first`; later lines are indented by `hang`, less in a narrow terminal."""
    begun = len(click.unstyle(first))
    hang = hang if hang <= width // 3 else 6
    space = " " * hang
    shown = click.wrap_text(text, max(width, 20), "x" * begun, space).splitlines() or ["x" * begun]
    return [first + shown[0][begun:], *shown[1:]]


def number(value: float) -> str:
    """Return points without idle zeros."""
    return f"{round(value, 2):g}"


def render_list(rows: Iterable[tuple[str, str, str, str]]) -> str:
    """Return `grade list`'s table: exercise, name, points, title."""
    table = list(rows)
    widths = [max(len(row[i]) for row in table) for i in range(3)]
    return "\n".join(
        f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}"
        for row in table
    )
