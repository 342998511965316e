"""The catalogue of known bugs: what is wrong in it is one line; what is right tells mistakes."""

import json
from pathlib import Path

import pytest

from grader.course.bugs import Mutant, compose, load_bugs, mutants_of
from grader.course.derive import read_solution
from grader.course.load import CourseFolder
from grader.errors import CourseError
from grader.key.build import build_answer_key
from grader.key.store import bugs_from_json, bugs_to_json
from grader.records.key import ValueProof
from grader.worker.names import Group

_REFERENCE = """def double(x):
    ### BEGIN SOLUTION
    doubled = x + x  # twice the input
    return doubled
    ### END SOLUTION
"""
_COURSE = """format_version: 1
title: Small
tolerances: {float64: {rtol: 1.0e-9, atol: 1.0e-9}, float32: {rtol: 1.0e-4, atol: 1.0e-4}}
limits: {case_seconds: 5, target_seconds: 9, submission_seconds: 20, cpu_seconds: 20, data_mib: 512,
  answer_mib: 1, output_kib: 8, message_kib: 8, source_kib: 64, open_files: 32, restarts: 1}
exercises:
  - file: exercise1_double.py
    title: Doubling
    targets:
      - name: double
        kind: function
        dims: {b: 2..4, k: 3..6}
        inputs: {x: "float[b, k]"}
        outputs: {doubled: "float[b, k]"}
        steps: [doubled]
        points: {shape: 1, numeric: 2, bug: 1}
"""
_BUG = """- id: tripled
  title: Tripled
  target: double
  when: the input is taken three times
  step: doubled
  change: [{old: "x + x", new: "x + x + x"}]
  hints: [Count., There is one too many.]
  seen: here
"""


@pytest.fixture
def small(tmp_path: Path) -> CourseFolder:
    """A course of one function with one known bug."""
    from grader.course.load import load_course

    (tmp_path / "solutions" / "bugs").mkdir(parents=True)
    (tmp_path / "course.yml").write_text(_COURSE)
    (tmp_path / "solutions" / "exercise1_double.py").write_text(_REFERENCE)
    (tmp_path / "solutions" / "bugs" / "exercise1.yml").write_text(_BUG)
    return load_course(tmp_path)


def _wrong(small: CourseFolder, old: str, new: str) -> str:
    """Change the catalogue and return the error that building the key raises."""
    path = small.solutions / "bugs" / "exercise1.yml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(CourseError) as caught:
        build_answer_key(small, small.course.exercises[0], "public", b"public")
    return str(caught.value).replace(str(path), "FILE")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('old: "x + x"', 'old: "x - x"', "FILE: tripled: 'x - x' stands nowhere"),
        (
            "step: doubled",
            "lesson: Nowhere",
            "FILE: tripled: no passage of the lesson begins with 'Nowhere'",
        ),
        ('old: "x + x"', 'old: "doubled"', "FILE: tripled: 'doubled' stands 2 times"),
        ('new: "x + x + x"', 'new: "x +"', "FILE: tripled: does not compile"),
        ('new: "x + x + x"', 'new: "2 * x"', "FILE: tripled: no check tells its change"),
        ("target: double", "target: duble", "FILE: tripled: 'duble' is no target"),
        ("step: doubled", "step: halved", "FILE: tripled: 'halved' is no step"),
        ("There is one too many.", "return doubled", "FILE: tripled: a hint contains"),
        ("title:", "titel:", "FILE:2: [0]: unknown key 'titel'; did you mean 'title'?"),
        (_BUG, _BUG + _BUG, "FILE: tripled: stands there twice for double"),
        ("id: tripled", "id: Tripled!", "FILE:1: [0].id:"),
    ],
    ids=[
        "nowhere", "lesson", "twice", "syntax", "equal", "target", "step", "hint", "key", "double",
        "id",
    ],
)  # fmt: skip
def test_catalogue_mistake_is_one_line_naming_file_and_entry(
    small: CourseFolder, old: str, new: str, said: str
) -> None:
    message = _wrong(small, old, new)
    assert message.startswith(said)
    assert "\n" not in message


def test_bug_points_without_a_bug_that_values_show_are_refused(small: CourseFolder) -> None:
    (small.solutions / "bugs" / "exercise1.yml").unlink()
    with pytest.raises(CourseError, match="gives 1 points for bugs, but has no known bug"):
        build_answer_key(small, small.course.exercises[0], "public", b"public")


def test_unfair_check_is_refused_when_the_key_is_built(small: CourseFolder) -> None:
    unfair = _COURSE.replace("steps:", "properties: [{kind: rows-sum-to-one}]\n        steps:")
    (small.root / "course.yml").write_text(unfair)
    from grader.course.load import load_course

    folder = load_course(small.root)
    with pytest.raises(CourseError, match=r"the reference fails .*rows-sum-to-one"):
        build_answer_key(folder, folder.course.exercises[0], "public", b"public")


def test_key_tells_how_far_a_bug_is_away(small: CourseFolder) -> None:
    key = build_answer_key(small, small.course.exercises[0], "public", b"public")
    (bug,) = key.book.bugs
    proof = bug.proofs[0]
    assert isinstance(proof, ValueProof)
    assert proof.group is Group.OUTPUT
    assert proof.call.startswith("double/")
    assert bug.margin64 is not None
    assert bug.margin64 > 1e6
    assert key.suspects["double"].names == (("double/tripled",),)


_ALSO = """also:
    - [{old: "x + x", new: "x + 2 * x"}]
    - when: the input is taken four times
      hints: [Count again., There are two too many.]
      needs: [clone]
      change: [{old: "x + x", new: "4 * x"}]
  hints:"""


def test_a_variant_with_words_of_its_own_is_told_by_them_and_counts_as_its_bug(
    small: CourseFolder,
) -> None:
    path = small.solutions / "bugs" / "exercise1.yml"
    path.write_text(path.read_text().replace("hints:", _ALSO, 1))
    key = build_answer_key(small, small.course.exercises[0], "public", b"public")
    names = [("double/tripled",), ("double/tripled",), ("double/tripled#2",)]
    assert list(key.suspects["double"].names) == names
    assert len(key.book.checked("double")) == 1
    bug, way = key.book.by_key("double/tripled"), key.book.by_key("double/tripled#2")
    assert bug.when == "the input is taken three times"
    assert (way.id, way.when) == ("tripled", "the input is taken four times")
    assert way.hints == ("Count again.", "There are two too many.")
    assert (bug.needs, way.needs) == ((), ("clone",))
    assert bugs_from_json(json.loads(json.dumps(bugs_to_json(key.book)))) == key.book


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("There are two too many.", "return doubled", "FILE: tripled: a hint contains"),
        ("needs: [clone]", "step: halved", "FILE: tripled: 'halved' is no step"),
        ("[Count again., There are two too many.]", "[Count again.]", "FILE:9: [0].also[1]"),
    ],
    ids=["hint", "step", "hints"],
)
def test_a_variants_words_are_checked_like_its_bugs(
    small: CourseFolder, old: str, new: str, said: str
) -> None:
    path = small.solutions / "bugs" / "exercise1.yml"
    path.write_text(path.read_text().replace("hints:", _ALSO, 1))
    assert _wrong(small, old, new).startswith(said)


def test_compose_refuses_overlapping_places(folder: CourseFolder) -> None:
    exercise = folder.course.exercise("exercise4")
    source = read_solution(folder.solutions / exercise.file)
    mutants: dict[str, Mutant] = {
        bug.id: mutants_of(folder, exercise, bug, source)[0]
        for bug in load_bugs(folder, exercise, source)
    }
    missing, first = mutants["activation-missing"], mutants["activation-last"]
    assert compose(missing, missing, source) is None
    both = compose(mutants["hidden-dim-ignored"], first, source)
    assert both is not None
    assert both not in (source, first.source)


def test_two_mistakes_of_one_line_are_composed_where_they_do_not_meet(
    folder: CourseFolder,
) -> None:
    """What both leave as it is belongs to neither edit; a line that one adds stands behind."""
    exercise = folder.course.exercise("exercise1")
    source = read_solution(folder.solutions / exercise.file)
    mutants = {
        bug.key: mutants_of(folder, exercise, bug, source)[0]
        for bug in load_bugs(folder, exercise, source)
    }
    scaled, causal, scrambled = (
        mutants[f"self_attention/{name}"]
        for name in ("self-attention-scaled", "causal-mask", "reshaped-not-transposed")
    )
    both = compose(scaled, causal, source)
    assert both is not None
    assert "scores = x @ x.transpose(1, 2) / math.sqrt(x.size(2))\n    future" in both
    assert compose(causal, scrambled, source) is not None
    assert compose(scaled, scaled, source) is None


def test_last_hint_on_a_mistake_says_what_to_write(folder: CourseFolder) -> None:
    for exercise in folder.course.exercises:
        bugs = load_bugs(folder, exercise, read_solution(folder.solutions / exercise.file))
        ladders = [bug.hints for bug in bugs] + [w.hints for b in bugs for w in b.also if w.hints]
        assert [hints[-1] for hints in ladders if "`" not in hints[-1]] == []


def test_catalogue_holds_the_mistakes_that_it_promises(folder: CourseFolder) -> None:
    counts = {
        e.id: len(load_bugs(folder, e, read_solution(folder.solutions / e.file)))
        for e in folder.course.exercises
    }
    assert min(counts.values()) >= 10
    assert sum(counts.values()) >= 90


def test_mistakes_of_one_call_are_composed_where_it_is_written_out(folder: CourseFolder) -> None:
    """Both write the call out in the same way; what each then changes stands in other lines."""
    exercise = folder.course.exercise("exercise2")
    source = read_solution(folder.solutions / exercise.file)
    written = {
        bug.id: mutants_of(folder, exercise, bug, source)
        for bug in load_bugs(folder, exercise, source)
        if bug.target == "AttentionHead"
    }
    softmax, (*_, scale) = written["softmax-over-queries"][0], written["scale-by-embed-dim"]
    both = compose(softmax, scale, source)
    assert both is not None
    assert "/ x.size(2) ** 0.5\n        weights = scores.softmax(dim=1)" in both
    assert compose(softmax, written["softmax-over-batch"][0], source) is None
    assert compose(softmax, written["scale-by-embed-dim"][0], source) is None  # as it was called
