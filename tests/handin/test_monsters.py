"""No text is slow to read, or large: each is searched at little cost, or refused with a reason."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from monsters import CODE, monsters, taken
from support import TESTS

from grader.batch.entries import Entry, read_entry
from grader.course.load import CourseFolder
from grader.handin.gather import Part
from grader.handin.read import read_submission

# Two seconds are promised; a machine on which much else runs may take some times as long.
_SECONDS = 2 * 5
_PEAK_MIB = 200  # more than what an ordinary text takes
_REASONS = (
    "holds more than",
    "holds code that is nested more than",
    "cannot be parsed in",
    "is not valid JSON",
    "cannot be read as a notebook",
)


@pytest.mark.parametrize(
    ("name", "text"), [pytest.param(n, t, id=called) for called, n, t in monsters()]
)
def test_no_text_holds_the_judging_process_up(name: str, text: str) -> None:
    seconds, source = taken(name, text)
    assert seconds < _SECONDS
    if source.problem:
        assert source.problem.startswith(tuple(f"{name} {reason}" for reason in _REASONS))
        assert source.next_step


@pytest.mark.long
def test_no_text_fills_the_judging_process() -> None:
    done = subprocess.run(
        [sys.executable, TESTS / "monsters.py"], capture_output=True, text=True, check=True
    )
    peaks = [int(line.split()[1]) for line in done.stdout.splitlines() if " MiB " in line]
    assert len(peaks) == len(monsters()) + 1
    assert max(peaks) - peaks[0] < _PEAK_MIB


def test_what_is_too_much_is_told_alike_everywhere(tmp_path: Path, folder: CourseFolder) -> None:
    course, text = folder.course, "x = 1\n" * 100_000
    exercise = course.exercises[0]
    (tmp_path / exercise.file).write_text(text, encoding="utf-8")
    said = (
        f"{exercise.file} holds more than 512 KiB of code",
        "hand in only the code that the exercise asks for",
    )
    sources = [
        read_submission(tmp_path, course, [exercise], 2**21).source(exercise),
        read_submission(tmp_path / exercise.file, course, [exercise], 2**21).source(exercise),
        read_entry(Entry("ada", (Part(tmp_path, "ada"),)), course).submission.source(exercise),
    ]
    assert [(source.problem, source.next_step) for source in sources] == [said] * len(sources)


_PIECES = st.sampled_from([
    "a", "b", "if", "else", "for", "in", "(", ")", "[", "]", "{", "}", ":", ",", ".", "=", "+",
    "-", "*", "@", "not", "lambda", "def", "class", "f'{", "}'", "'", '"', "\\", "\n", "1", "0x",
    "async", "await", "yield", "with", "as", "match", "case", "import", "from", "\u0315", "\u0300",
    "ﷺ", "#", ";", "->", ":=", "**", "//", "...", "é", " ",
])  # fmt: skip
_REPEATED = st.builds(
    lambda pieces, before, after: before + "".join(pieces) * (CODE // 9 // len(pieces)) + after,
    st.lists(_PIECES, min_size=1, max_size=6),
    st.sampled_from(["", "a = ", "def f():\n ", "(", "x = '''", "f'''", "class f:\n def "]),
    st.sampled_from(["", ")", "\n", "'''", ": pass"]),
)


@settings(max_examples=30, deadline=None)
@given(text=_REPEATED)
def test_no_pattern_that_repeats_is_slow(text: str) -> None:
    assert taken("a.py", text)[0] < _SECONDS
