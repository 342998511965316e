"""What a test cell of nbgrader's shows: every sentence ends in one mark, in text and in HTML."""

import re
from dataclasses import replace
from html import escape as html_escape

import click
import pytest

from grader.records.ids import CheckId, Kind
from grader.records.results import (
    CellScore,
    CheckResult,
    Diagnosis,
    Document,
    ExerciseResult,
    Facts,
    ShownCase,
    Status,
)
from grader.report.pages import render_fragment, render_page
from grader.report.terminal import render_document, render_result
from grader.report.verdict import Verdict, render_trouble, render_verdict

_SENTENCES = [
    ("is `self` its first argument?", "is `self` its first argument?"),
    ("it is done.", "it is done."),
    ("stop!", "stop!"),
    ("do it", "do it."),
]


def _result(kind: Kind, **words: str) -> ExerciseResult:
    check = CheckResult(
        CheckId("exercise1", "f", kind, "x" if kind is Kind.BUG else ""), Status.FAILED, 0, 1,
        words.get("message", "`f` cannot be called"), next_step=words.get("next_step", ""),
    )  # fmt: skip
    notes = (words["note"],) if "note" in words else ()
    return ExerciseResult("exercise1", "One", Status.FAILED, 0, 1, (check,), notes=notes)


def _verdict(result: ExerciseResult) -> Verdict:
    kind = result.checks[0].kind
    return render_verdict(result, CellScore(kind, 0, 1, Status.FAILED, result.checks))


def _assert_told(said: str, sentence: str) -> None:
    """Fail unless a sentence is there as it is, with nothing but space behind its mark."""
    words = " ".join(re.sub(r"</?code>", "`", said).split())
    assert re.search(rf"{re.escape(sentence)}(?![.?!…])", words)


@pytest.mark.parametrize("command", ["grade ", "%"])
def test_deviations_name_the_command_that_tells_more(command: str) -> None:
    found = Diagnosis("f", (), "", "", deviations=("one", "another"))
    result = replace(_result(Kind.NUMERIC), diagnoses=(found,))
    document = Document("c", "e", "k", (result,))
    said = f"`{command}hint exercise1 f` says what to do about each of them."
    _assert_told(render_document(document, command=command), said)
    _assert_told(render_fragment(document, {}, command=command), said)


def test_what_was_printed_is_told() -> None:
    result = replace(_result(Kind.NUMERIC), output="seen")
    told = "Printed by your code while it ran:"
    assert told in click.unstyle(render_result(result))
    assert told in render_fragment(Document("c", "e", "k", (result,)), {})


def test_a_terminal_says_that_more_was_printed() -> None:
    lines = [str(number) for number in range(6)]
    few, many = (
        replace(_result(Kind.NUMERIC), output="\n".join(some)) for some in (lines[1:], lines)
    )
    more = "and more: --json shows the first 40 lines"
    assert more not in click.unstyle(render_result(few))
    assert more in click.unstyle(render_result(many))


@pytest.mark.parametrize("kind", [Kind.SHAPE, Kind.BUG])
@pytest.mark.parametrize("place", ["message", "next_step", "note"])
@pytest.mark.parametrize(("sentence", "told"), _SENTENCES)
def test_verdict_ends_each_sentence_once(kind: Kind, place: str, sentence: str, told: str) -> None:
    verdict = _verdict(_result(kind, **{place: sentence}))
    _assert_told(verdict.text, told)
    _assert_told(verdict.html, told)


@pytest.mark.parametrize("place", ["message", "next_step", "note"])
@pytest.mark.parametrize(("sentence", "told"), _SENTENCES)
def test_reports_end_each_sentence_once(place: str, sentence: str, told: str) -> None:
    result = _result(Kind.SHAPE, **{place: sentence})
    _assert_told(click.unstyle(render_result(result)), told)
    _assert_told(render_page(Document("c", "e", "k", (result,)), {}), told)


@pytest.mark.parametrize(("sentence", "told"), _SENTENCES)
def test_trouble_ends_once(sentence: str, told: str) -> None:
    verdict = render_trouble(sentence)
    _assert_told(verdict.text, told)
    _assert_told(verdict.html, html_escape(told))


def test_cell_of_known_mistakes_says_why_it_failed() -> None:
    text = _verdict(_result(Kind.BUG, message="`f` is not there", next_step="do it")).text
    assert text.endswith("✗ `f` is not there.\n      next  do it.")


def test_verdict_escapes_what_is_not_ours() -> None:
    evil = "<script>x</script>"
    verdict = _verdict(_result(Kind.SHAPE, message=evil, next_step=evil, note=evil))
    assert "<script" not in verdict.html
    assert verdict.html.count("&lt;script&gt;") == 3
    assert "<script" not in render_trouble(evil).html


def test_verdict_shows_no_more_failures_than_fit() -> None:
    checks = tuple(
        CheckResult(
            CheckId("exercise1", "f", Kind.PROPERTY, f"p{n}"), Status.FAILED, 0, 1, f"wrong {n}"
        )
        for n in range(6)
    )
    result = ExerciseResult("exercise1", "One", Status.FAILED, 0, 6, checks)
    page = _verdict(result).html
    assert "wrong 3" in page
    assert "wrong 4" not in page
    assert "and 2 more" in page


def test_verdict_tells_what_was_expected_and_what_came() -> None:
    check = CheckResult(
        CheckId("exercise1", "f", Kind.SHAPE), Status.FAILED, 0, 1, "another shape",
        expected=Facts(shape=(2, 3), dtype="float64"), actual=Facts(shape=(3, 2)),
        case=ShownCase("main", {"b": 2}, {}, {"scale": 0.5}),
    )  # fmt: skip
    page = _verdict(ExerciseResult("exercise1", "One", Status.FAILED, 0, 1, (check,))).html
    assert "<i>expected:</i> <code>shape [2, 3], dtype float64</code>" in page
    assert "<i>actual:</i> <code>shape [3, 2]</code>" in page
    assert "<i>case:</i> main (b=2)" in page


def test_verdict_of_no_tensor_speaks_of_none() -> None:
    page = _verdict(_result(Kind.SHAPE)).html
    assert "expected:" not in page
    assert "actual:" not in page
    assert "case:" not in page
