"""Results as Gradescope takes them of an autograder: a test for each target, with partial points.

All text is of the format `text`, which Gradescope shows as it stands.
"""

import json
from collections.abc import Iterator, Sequence

import click

from grader.records.results import Document, ExerciseResult, Status
from grader.records.text import ended
from grader.report.terminal import failure_lines, paragraph_lines
from grader.report.words import Paragraph, number, paragraphs, sole_reason

_WIDTH = 88  # columns
_LONGEST = 20_000  # characters of one text


def results_json(
    document: Document, visibility: str, *, seconds: float, notes: Sequence[str] = ()
) -> str:
    """Return the text of results.json; `notes` are of the submission as a whole."""
    tests = [
        {**test, "number": f"{n}.{place}", "visibility": visibility}
        for n, result in enumerate(document.results, 1)
        for place, test in enumerate(_tests(result), 1)
    ]
    together = f"{number(document.score)} / {number(document.max_score)} points"
    own = [f"{r.exercise}: {ended(note)}" for r in document.results for note in r.all_notes]
    plain = {
        "score": round(document.score, 4),
        "execution_time": round(seconds, 1),
        "output": _cut("\n".join([f"{document.course}: {together}", *map(ended, notes), *own])),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": visibility,
        "stdout_visibility": "hidden",
        "extra_data": {"engine": document.engine, "key": document.key},
        "tests": tests,
    }
    return json.dumps(plain, indent=1) + "\n"


def _tests(result: ExerciseResult) -> Iterator[dict[str, object]]:
    """Yield a test for each target of an exercise."""
    reason = sole_reason(result)
    for paragraph in paragraphs(result):
        group = paragraph.group
        said = failure_lines(reason, _WIDTH, named=False) if reason else _said(paragraph)
        passed = group.status is Status.PASSED
        yield {
            "name": f"{result.exercise}: {group.name}",
            "score": round(group.score, 4),
            "max_score": round(group.max_score, 4),
            "status": "passed" if passed else "failed",
            "output": _cut(click.unstyle("\n".join(said))),
        }


def _said(paragraph: Paragraph) -> list[str]:
    if paragraph.group.status is Status.PASSED:
        return [f"All {len(paragraph.group.checks)} checks pass."]
    return paragraph_lines(paragraph, _WIDTH)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n…"
