"""Shows what random submissions came to: rates, and each kind of fault with its smallest text."""

import textwrap

import click

from grader.audit.compose.records import Compositions, Found
from grader.records.results import FORMAT_VERSION
from grader.report.layout import columns


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
