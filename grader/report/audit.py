"""Shows an audit: a table, a JSON document, and a picture of bugs by checks."""

import html
from typing import Any

import click

from grader.audit.run import Audit, BugTrial, ExerciseAudit
from grader.records import FORMAT_VERSION

_HEADS = (
    "exercise", "checks", "bugs", "caught", "named", "pairs named", "nearest bug",
    "in float32", "variants", "farthest", "mutants killed",
)  # fmt: skip


def render_audit(audit: Audit) -> str:
    """Return the table, the figures of the course, and its problems, one a line."""
    rows = [_HEADS, *(_row(exercise) for exercise in audit.exercises)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADS))]
    lines = [
        "  ".join(
            cell.ljust(width) if not i else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    bugs = [bug for exercise in audit.exercises for bug in exercise.bugs]
    lines += [
        "",
        f"{audit.course}: {audit.points:g} points, "
        f"{len({b.bug for b in bugs})} known bugs in {len(bugs)} variants, "
        f"{audit.pairs_named:.1%} of the pairs that can be told apart are named.",
        "Distances are in tolerances.",
    ]
    if audit.problems:
        lines += ["", *(click.style(f"✗ {line}", fg="red") for line in audit.problems)]
    else:
        lines += ["", click.style("✓ every test of the tests passes", fg="green")]
    return "\n".join(lines)


def _row(one: ExerciseAudit) -> tuple[str, ...]:
    caught = sum(bool(bug.lost) and bug.own for bug in one.bugs)
    right = sum(bug.right for bug in one.bugs)
    told = sum(bug.right or not bug.told for bug in one.bugs)
    due = one.mutants["total"] - one.mutants["equivalent"]
    return (
        one.exercise,
        str(len(one.checks)),
        str(len({bug.bug for bug in one.bugs})),
        f"{caught}/{len(one.bugs)}",
        f"{right}/{told}",
        f"{one.pairs_named:.0%}",
        f"{one.margin:.2g}",
        f"{one.margin32:.2g}",
        str(len(one.variants)),
        f"{one.deviation:.2g}",
        f"{one.mutants['killed']}/{due}",
    )


def audit_to_json(audit: Audit) -> dict[str, Any]:
    """Return plain data with stable field names."""
    return {
        "format_version": FORMAT_VERSION,
        "course": audit.course,
        "points": audit.points,
        "pairs_named": round(audit.pairs_named, 4),
        "problems": list(audit.problems),
        "exercises": [_exercise_to_json(exercise) for exercise in audit.exercises],
    }


def _exercise_to_json(one: ExerciseAudit) -> dict[str, Any]:
    return {
        "exercise": one.exercise,
        "stub_score": one.stub_score,
        "reference_score": one.reference_score,
        "max_score": one.max_score,
        "checks": list(one.checks),
        "idle": list(one.idle),
        "bugs": [_bug_to_json(bug) for bug in one.bugs],
        "pairs": dict(one.pairs),
        "margin": one.margin,
        "margin_float32": one.margin32,
        "variants": [
            {"name": v.name, "lost": list(v.lost), "deviation": v.deviation} for v in one.variants
        ],
        "deviation": one.deviation,
        "mutants": dict(one.mutants),
        "survivors": list(one.survivors),
    }


def _bug_to_json(bug: BugTrial) -> dict[str, Any]:
    return {
        "bug": bug.bug,
        "variant": bug.variant,
        "lost": bug.lost,
        "failed": list(bug.failed),
        "own_check_failed": bug.own,
        "named": list(bug.named),
        "right": bug.right,
        "alike": bug.alike,
    }


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem;
  color: #1c2430; background: #fff }
h2 { margin: 2.5rem 0 .5rem } table { border-collapse: collapse; font-size: 12px }
td, th { padding: 0 } .bug { padding-right: .6rem; white-space: nowrap; text-align: left;
  font-weight: 400 } .check { height: 13rem; vertical-align: bottom; font-weight: 400 }
.check span { writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap }
.cell { width: 15px; height: 15px; border: 1px solid #fff; background: #e8ecf1 }
.failed { background: #c8453b } .own { background: #6d1a13 } .told { color: #2a7d46 }
.untold { color: #b3261e } .problems { color: #b3261e }
.wide { overflow-x: auto }
@media (prefers-color-scheme: dark) { body { color: #dfe5ee; background: #151a21 }
  .cell { background: #28303b; border-color: #151a21 } .failed { background: #d8584d }
  .own { background: #ffb4ab } .told { color: #7fd49a } .untold, .problems { color: #ff8a80 } }
"""


def render_html(audit: Audit) -> str:
    """Return one self-contained page: for each exercise, bugs by checks."""
    parts = [_grid(exercise) for exercise in audit.exercises]
    problems = "".join(f"<li>{html.escape(line)}</li>" for line in audit.problems)
    verdict = (
        f"<ul class='problems'>{problems}</ul>"
        if problems
        else "<p>Every test of the tests passes.</p>"
    )
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        f"<title>Audit: {html.escape(audit.course)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>Audit: {html.escape(audit.course)}</h1>"
        "<p>A row is a known bug, a column a check. Red: the bug fails the check; dark: the check "
        "is the bug's own. A name in green was diagnosed rightly.</p>"
        f"{verdict}{''.join(parts)}</body></html>\n"
    )


def _grid(one: ExerciseAudit) -> str:
    heads = "".join(
        f"<th class='check'><span>{html.escape(check.split('/', 1)[1])}</span></th>"
        for check in one.checks
    )
    rows = "".join(_grid_row(bug, one) for bug in one.bugs)
    return (
        f"<h2>{html.escape(one.exercise)}</h2><div class='wide'><table>"
        f"<tr><th></th>{heads}</tr>{rows}</table></div>"
    )


def _grid_row(bug: BugTrial, one: ExerciseAudit) -> str:
    target, _, name = bug.bug.partition("/")
    own = f"{one.exercise}/{target}/bug/{name}"
    variant = f" ({bug.variant + 1})" if bug.variant else ""
    cells = "".join(
        f"<td class='cell{_shade(check, bug, own)}' title='{html.escape(check)}'></td>"
        for check in one.checks
    )
    told = "told" if bug.told else "untold"
    return (
        f"<tr><th class='bug {told}' title='{html.escape(bug.title, quote=True)}'>"
        f"{html.escape(bug.bug)}{variant}</th>{cells}</tr>"
    )


def _shade(check: str, bug: BugTrial, own: str) -> str:
    if check not in bug.failed:
        return ""
    return " failed own" if check == own else " failed"
