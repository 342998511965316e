"""Shows an audit, and what random submissions came to: tables, JSON documents, and a picture."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict

import click
import yaml

from grader.audit.compose.records import Compositions, Found
from grader.audit.records import Audit, BugTrial, ExerciseAudit, PairReport, Survivor
from grader.records.ids import CheckId, Kind
from grader.records.results import FORMAT_VERSION
from grader.report.layout import columns
from grader.report.pages import render

_HEADS = (
    "exercise", "checks", "bugs", "caught", "named", "pairs named", "nearest bug",
    "in float32", "variants", "farthest", "mutants killed",
)  # fmt: skip


def render_audit(audit: Audit) -> str:
    """Return the table, the figures of the course, and its problems, one a line."""
    rows = [_HEADS, *(_row(exercise) for exercise in audit.exercises)]
    lines = columns(rows, "<".ljust(len(_HEADS), ">"))
    bugs = [bug for exercise in audit.exercises for bug in exercise.bugs]
    lines += [
        "",
        f"{audit.course}: {audit.points:g} points, "
        f"{len({b.bug for b in bugs})} known bugs in {len(bugs)} variants, "
        f"{audit.pairs_named:.1%} of the pairs that can be told apart are named.",
        *_untried(audit.pair_step),
        "Distances are in tolerances.",
    ]
    if audit.problems:
        lines += ["", *(click.style(f"✗ {line}", fg="red") for line in audit.problems)]
        lines += _to_explain([s for one in audit.exercises for s in one.mutants.survivors])
    else:
        lines += ["", click.style("✓ every test of the tests passes", fg="green")]
    return "\n".join(lines)


def _to_explain(survivors: Sequence[Survivor]) -> list[str]:
    """Return what is missing in equivalent.yml, ready to be pasted; the reasons are a person's."""
    if not survivors:
        return []
    lines = [
        "",
        "Where a mutant survives, a case or a check is missing. Where it does the same as the",
        "reference, say so in solutions/bugs/equivalent.yml, each with a reason:",
    ]
    entries: dict[tuple[str, str, str], list[str]] = {}
    for one in survivors:
        place = f"line {one.line}, {one.id.split(':')[1]}"
        entries.setdefault((one.exercise, one.before, one.after), []).append(place)
    for (exercise, before, after), places in entries.items():
        entry = {"exercise": exercise, "before": before, "after": after, "reason": ""}
        text = yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, width=10_000)
        lines += ["", f"# {'; '.join(places)}", *text.splitlines()]
    return lines


def _untried(step: int) -> list[str]:
    """Say so where the figures of pairs come from a part of them."""
    if step == 1:
        return []
    return [f"Where there are many pairs, one of {step} was tried; --all-pairs tries them all."]


def _row(one: ExerciseAudit) -> tuple[str, ...]:
    return (
        one.exercise,
        str(len(one.checks)),
        str(len({bug.bug for bug in one.bugs})),
        f"{one.caught}/{len(one.bugs)}",
        f"{one.right}/{one.nameable}",
        f"{one.pairs_named:.0%}",
        f"{one.margin:.2g}",
        f"{one.margin32:.2g}",
        str(len(one.variants)),
        f"{one.deviation:.2g}",
        f"{one.mutants.killed}/{one.mutants.unlike}",
    )


def audit_to_json(audit: Audit) -> dict[str, object]:
    """Return plain data with stable field names."""
    return {
        "format_version": FORMAT_VERSION,
        "course": audit.course,
        "points": audit.points,
        "pairs_named": round(audit.pairs_named, 4),
        "problems": list(audit.problems),
        "exercises": [_exercise_to_json(exercise) for exercise in audit.exercises],
    }


def _exercise_to_json(one: ExerciseAudit) -> dict[str, object]:
    return {
        "exercise": one.exercise,
        "stub_score": one.stub_score,
        "reference_score": one.reference_score,
        "max_score": one.max_score,
        "checks": [str(check) for check in one.checks],
        "idle": [str(check) for check in one.idle],
        "bugs": [_bug_to_json(bug) for bug in one.bugs],
        "pairs": {report.value: one.pairs.reports[report] for report in PairReport},
        "pairs_step": one.pairs.step,
        "margin": one.margin,
        "margin_float32": one.margin32,
        "variants": [
            {
                "name": v.name,
                "lost": [str(check) for check in v.lost],
                "deviation": v.deviation.most,
            }
            for v in one.variants
        ],
        "deviation": one.deviation,
        "mutants": {
            "total": one.mutants.total,
            "killed": one.mutants.killed,
            "equivalent": one.mutants.equivalent,
        },
        "survivors": [survivor.id for survivor in one.mutants.survivors],
        "to_explain": [asdict(survivor) for survivor in one.mutants.survivors],
    }


def _bug_to_json(bug: BugTrial) -> dict[str, object]:
    return {
        "bug": bug.bug,
        "variant": bug.variant,
        "lost": bug.lost,
        "failed": [str(check) for check in bug.failed],
        "own_check_failed": bug.own,
        "named": list(bug.named),
        "right": bug.right,
        "alike": bug.alike,
    }


def render_html(audit: Audit) -> str:
    """Return one self-contained page: for each exercise, bugs by checks."""
    return render("audit.html.j2", audit=audit, own_check=_own_check)


def _own_check(one: ExerciseAudit, bug: BugTrial) -> CheckId:
    """The check that is there for a bug."""
    target, _, name = bug.bug.partition("/")
    return CheckId(one.exercise, target, Kind.BUG, name)


# ---- random submissions --------------------------------------------------------------------------


def render_compositions(judged: Compositions) -> str:
    """Return the rates, and every kind of fault with the smallest composition that has it."""
    rows = [("", "of", "named", "at least")]
    for rate in judged.rates:
        due = f"{rate.due:.0%}" if rate.due else ""
        rows.append((rate.label, str(rate.count), f"{rate.share:.0%}", due))
    lines = [
        *columns(rows, "<>>>"),
        "",
        f"{judged.count} compositions of seed {judged.seed}; of {judged.false} the report holds "
        "something that is not as it must be.",
        f"Where no bug acts, but a deviation, {judged.kept:.0%} of the points are kept.",
    ]
    if judged.missed:
        missed = ", ".join(f"{name} {count}" for name, count in judged.missed[:8])
        lines.append(f"Single bugs not named: {missed}")
    for found in judged.found:
        lines += ["", *_fault_lines(found)]
    if not judged.problems:
        lines += ["", click.style("✓ every report says what is so", fg="green")]
    return "\n".join(lines)


def _fault_lines(found: Found) -> list[str]:
    head = f"✗ {found.exercise} {found.target}: {found.kind} ({found.count})"
    made = found.smallest.made
    return [
        click.style(head, fg="red"),
        f"    planted: {', '.join(map(str, made.plants)) or 'nothing'}",
        f"    style: {', '.join(option for _, option in made.styles)}",
        f"    report: {found.words}",
        textwrap.indent(found.smallest.text, "    | ", lambda _: True),
    ]


def compositions_to_json(judged: Compositions) -> dict[str, object]:
    """Return plain data with stable field names."""
    return {
        "format_version": FORMAT_VERSION,
        "seed": judged.seed,
        "count": judged.count,
        "false": judged.false,
        "kept": round(judged.kept, 4),
        "problems": list(judged.problems),
        "missed": dict(judged.missed),
        "rates": [
            {
                "bugs": rate.bugs,
                "beside_deviations": rate.beside,
                "count": rate.count,
                "named": rate.named,
                "due": rate.due,
            }
            for rate in judged.rates
        ],
        "faults": [_fault_to_json(found) for found in judged.found],
    }


def _fault_to_json(found: Found) -> dict[str, object]:
    made = found.smallest.made
    return {
        "exercise": found.exercise,
        "target": found.target,
        "kind": found.kind,
        "count": found.count,
        "words": found.words,
        "planted": [f"{plant.group}/{plant}" for plant in made.plants],
        "style": dict(made.styles),
        "text": found.smallest.text,
    }
