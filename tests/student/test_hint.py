"""`grade hint` and `grade explain`: help by degrees, and a run laid beside what was expected."""

import re
from dataclasses import replace
from pathlib import Path

import click
import pytest
from support import EXERCISES, SUBMISSIONS, RunGrade, edited, solution, without_parts

from grader.checks.judge import list_checks
from grader.course.derive import solution_lines
from grader.course.lesson import Passage, read_lesson
from grader.course.load import CourseFolder
from grader.errors import UsageError
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine
from grader.grading.jobs import Standins
from grader.grading.letters import name_sizes
from grader.grading.trace import Trace, trace_target
from grader.handin.read import Source, Submission, read_submission
from grader.key.cache import Keys
from grader.records.ids import CheckId, Kind
from grader.records.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Place,
    ShownCase,
    State,
    Status,
)
from grader.report.explained import render_run
from grader.report.student import render_told
from grader.student.hints import Advice, Told, next_hint, take_hint


def _advice(engine: Engine, sample: str, exercise: str) -> Advice | None:
    course = engine.folder.course
    chosen = course.exercise(exercise)
    submission = read_submission(SUBMISSIONS / sample, course, [chosen], 2**21)
    result = engine.run(chosen, submission, quick=True).result
    stub = (engine.folder.root / "key" / "stubs" / f"{chosen.stem}.py").read_text("utf-8")
    return next_hint(chosen, engine.keys.keys[exercise], result, read_lesson(stub))


def _without_parts(engine: Engine, exercise: str) -> Engine:
    own = engine.folder.course.exercise(exercise)
    return replace(engine, standins=without_parts(engine.standins, own))


def _result_of(engine: Engine, exercise: str, text: str) -> ExerciseResult:
    chosen = engine.folder.course.exercise(exercise)
    others = {e.id: Source(e.file, problem="not here") for e in engine.folder.course.exercises}
    source = Source(chosen.file, units=((chosen.file, text),))
    return engine.run(chosen, Submission({**others, exercise: source}), quick=True).result


def _advice_of(engine: Engine, exercise: str, text: str) -> Advice:
    result, lesson = _result_of(engine, exercise, text), read_lesson(solution(exercise))
    chosen = engine.folder.course.exercise(exercise)
    advice = next_hint(chosen, engine.keys.keys[exercise], result, lesson)
    assert advice is not None
    return advice


def test_hints_come_from_the_known_bug(shipped_engine: Engine) -> None:
    advice = _advice(shipped_engine, "keys-from-queries", "exercise3")
    assert advice is not None
    assert (advice.target, advice.topic) == ("MultiHeadSelfAttention", "keys-from-queries")
    assert advice.hints[0] == "Follow the keys back to x."
    assert len(advice.hints) == 3


def test_hints_for_a_blank_go_from_the_docstring_to_the_shapes(shipped_engine: Engine) -> None:
    advice = _advice(shipped_engine, "stub", "exercise3")
    assert advice is not None
    assert advice.target == "fold_heads"
    assert "docstring" in advice.hints[0]
    assert "split, then heads_first, then folded" in advice.hints[1]
    assert "split (2, 6, 3, 5)" in advice.hints[2]
    assert ["fold_heads(" in passage.section for passage in advice.lesson] == [True]


def test_hint_leads_to_what_is_not_written_first(shipped_engine: Engine) -> None:
    text = edited(
        solution("exercise3"),
        ("split = x.reshape(b, t, num_heads, d)", "raise NotImplementedError"),
    )
    engine = _without_parts(shipped_engine, "exercise3")
    result = _result_of(engine, "exercise3", text)
    own = [check for check in result.checks if check.target == "MultiHeadSelfAttention"]
    exercise = shipped_engine.folder.course.exercise("exercise3")
    key = shipped_engine.keys.keys["exercise3"]
    advice = next_hint(exercise, key, replace(result, checks=tuple(own)), [])
    assert advice is not None
    assert advice.hints[0] == "Write `fold_heads` first."


def test_hints_for_what_nobody_knows_follow_the_failed_check(shipped_engine: Engine) -> None:
    advice = _advice(shipped_engine, "constant", "exercise3")
    assert advice is not None
    assert advice.finding.endswith("In each case where it is wrong, the output is 0 at each place.")
    assert "tensor by tensor" in advice.hints[-1]  # the shapes are right: nothing to compare


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_there_is_a_hint_whatever_check_fails(shipped_engine: Engine, exercise_id: str) -> None:
    exercise = shipped_engine.folder.course.exercise(exercise_id)
    key = shipped_engine.keys.keys[exercise.id]
    for check in list_checks(shipped_engine.folder.course, exercise, key):
        failed = replace(check, status=Status.FAILED)
        result = ExerciseResult(exercise.id, "", Status.FAILED, 0, 1, (failed,))
        advice = next_hint(exercise, key, result, [])
        assert advice is not None, check.id
        assert all(advice.hints), check.id
        assert "hint 1 of 0" not in render_told(Told(advice, 1), exercise.id)


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_there_are_hints_for_every_bug(shipped_engine: Engine, exercise_id: str) -> None:
    exercise = shipped_engine.folder.course.exercise(exercise_id)
    key = shipped_engine.keys.keys[exercise.id]
    for check in list_checks(shipped_engine.folder.course, exercise, key):
        for bug in key.book.bugs if check.kind is Kind.SHAPE else ():
            failed = replace(check, status=Status.FAILED)
            said = (check.target, (bug.id,), bug.step, bug.hints[0], bug.when)
            found = Diagnosis(*said, ways=(bug.key,))
            result = ExerciseResult(exercise.id, "", Status.FAILED, 0, 1, (failed,), (found,))
            advice = next_hint(exercise, key, result, [])
            assert advice is not None
            assert len(advice.hints) >= 2


def test_the_plainest_hint_claims_no_more_than_is_known(shipped_engine: Engine) -> None:
    exercise = shipped_engine.folder.course.exercise("exercise1")
    key, target = shipped_engine.keys.keys["exercise1"], "attention_weights"
    alike = (f"{target}/missing-scale", f"{target}/scale-after-softmax")
    hint = key.book.by_key(alike[0]).hints[0]
    found = Diagnosis(target, alike, "scores", hint, "It is one.", ways=alike, either=alike)
    failed = CheckResult(CheckId("exercise1", target, Kind.NUMERIC), Status.FAILED, 0, 1)
    result = ExerciseResult("exercise1", "", Status.FAILED, 0, 1, (failed,), (found,))
    advice = next_hint(exercise, key, result, [])
    assert advice is not None
    first, second = (key.book.by_key(name) for name in alike)
    assert list(advice.hints) == [
        f"If {one.when}: {one.hints[degree]}" for degree in (0, -1) for one in (first, second)
    ]


def test_a_hint_that_fits_either_mistake_is_told_once(shipped_engine: Engine) -> None:
    text = edited(
        solution("exercise2"),
        (
            "self.to_values = nn.Linear(embed_dim, head_dim",
            "self.to_values = nn.Linear(head_dim, head_dim",
        ),
        ("values = self.to_values(x)", "values = self.to_values(queries)"),
    )
    advice = _advice_of(shipped_engine, "exercise2", text)
    assert advice.hints[0] == "Follow the values back to x."
    assert sum(hint.startswith("If the values are made from the") for hint in advice.hints) == 2


def _raised(said: str, line: int, trap: str = "") -> CheckResult:
    check = CheckId("exercise3", "fold_heads", Kind.NUMERIC)
    place = Place("a.py", line)
    message = f"`fold_heads` raised {said} at a.py, line {line}: `x`"
    return CheckResult(check, Status.FAILED, 0, 1, message, "use `reshape`", place=place, trap=trap)


def _advice_on(engine: Engine, check: CheckResult) -> Advice:
    exercise = engine.folder.course.exercise("exercise3")
    result = ExerciseResult("exercise3", "", Status.FAILED, 0, 1, (check,))
    lesson = read_lesson(solution("exercise3"))
    advice = next_hint(exercise, engine.keys.keys["exercise3"], result, lesson)
    assert advice is not None
    return advice


def test_hints_begin_anew_with_another_mistake(shipped_engine: Engine) -> None:
    topics = [
        _advice_on(shipped_engine, _raised(said, line)).topic
        for said, line in (("NameError: name 'a'", 3), ("NameError: name 'a'", 4), ("KeyError", 4))
    ]
    assert topics[0] == topics[1] != topics[2]


def test_hints_on_an_exception_lead_to_its_trap(shipped_engine: Engine) -> None:
    advice = _advice_on(shipped_engine, _raised("RuntimeError: view", 3, "An error that says"))
    (passage,) = advice.lesson
    assert passage.text.startswith("An error that says `view size")


def test_hints_end_where_all_is_right(shipped_engine: Engine) -> None:
    assert _advice(shipped_engine, "perfect", "exercise3") is None


def test_hint_names_what_else_there_are_hints_on(shipped_engine: Engine) -> None:
    folder = shipped_engine.folder
    exercise, key = folder.course.exercise("exercise3"), shipped_engine.keys.keys["exercise3"]
    wrong = edited(
        solution("exercise3"),
        ("def unfold_heads(", "def unfold_heads_later("),
        ("keys = self.to_keys(x)", "keys = self.to_queries(x)"),
    )
    result = _result_of(shipped_engine, "exercise3", wrong)
    told = take_hint(folder, exercise, key, result, every=True)
    assert told is not None
    assert (told.advice.target, told.others) == ("unfold_heads", ("MultiHeadSelfAttention",))
    command = "grade hint exercise3 MultiHeadSelfAttention --submission x"
    said = " ".join(render_told(told, "exercise3", handed="--submission x").split())
    assert f"there are hints on MultiHeadSelfAttention, too: {command}" in said
    both = replace(told, others=("fold_heads", "MultiHeadSelfAttention"))
    said = " ".join(render_told(both, "exercise3").split())
    others = "fold_heads, MultiHeadSelfAttention"
    assert f"there are hints on {others}, too, each by its name: grade hint exercise3 fold" in said
    named = take_hint(folder, exercise, key, result, named="MultiHeadSelfAttention", every=True)
    assert named is not None
    assert named.advice.target == "MultiHeadSelfAttention"
    with pytest.raises(UsageError, match="exercise3 has no 'heads'; it has fold_heads, "):
        take_hint(folder, exercise, key, result, named="heads")


def test_hints_are_told_one_more_each_time(shipped_engine: Engine) -> None:
    advice = _advice(shipped_engine, "keys-from-queries", "exercise3")
    assert advice is not None
    shown = [click.unstyle(render_told(Told(advice, degree), "exercise3")) for degree in (1, 2, 3)]
    for degree, text in enumerate(shown, start=1):
        assert f"hint {degree} of 3" in text
        assert [hint.split()[0] in text for hint in advice.hints].count(True) >= degree
    assert advice.hints[2].split(";")[0] not in shown[1].replace("\n     ", " ")


def test_no_hint_of_any_bug_is_a_line_of_a_solution(shipped_engine: Engine) -> None:
    for exercise_id, key in shipped_engine.keys.keys.items():
        code = [line.split("#")[0].strip() for line in solution_lines(solution(exercise_id))]
        for bug in key.book.bugs:
            told = " ".join([bug.title, bug.when, *bug.hints])
            assert [line for line in code if len(line) >= 12 and line in told] == []


@pytest.mark.parametrize(
    ("sample", "exercise", "passage"),
    [
        ("keys-from-queries", "exercise3", "The pasted line. Three nearly equal lines"),
        ("softmax-over-queries", "exercise1", "The softmax runs along the wrong axis. The col"),
    ],
)
def test_lesson_passage_is_the_one_that_the_bug_names(
    shipped_engine: Engine, sample: str, exercise: str, passage: str
) -> None:
    advice = _advice(shipped_engine, sample, exercise)
    assert advice is not None
    assert [one.text.startswith(passage) for one in advice.lesson] == [True]


def test_tensor_that_nothing_keeps_is_told_with_its_line(shipped_engine: Engine) -> None:
    text = solution("exercise1").replace(
        "scores = x @ x.transpose(1, 2)", "x.transpose(1, 2)\n    scores = x @ x"
    )
    line = 1 + text[: text.index("    x.transpose(1, 2)\n")].count("\n")
    advice = _advice_of(shipped_engine, "exercise1", text)
    assert advice.hints[0] == (
        "`x.transpose(1, 2)` makes a new tensor, and nothing keeps it "
        f"(exercise1_attention.py, line {line})."
    )
    assert [one.title for one in advice.lesson] == ["A result thrown away"]


def test_half_a_scale_beside_the_whole_one_leads_to_its_trap(shipped_engine: Engine) -> None:
    text = solution("exercise3").replace(
        "= fold_heads(queries, self.num_heads)",
        "= fold_heads(queries, self.num_heads) / (queries.size(2) // self.num_heads) ** 0.25",
    )
    advice = _advice_of(shipped_engine, "exercise3", text)
    assert advice.topic == "fourth-root-added"
    assert [one.title for one in advice.lesson] == ["Half a scale"]


def test_part_of_another_shape_is_the_place_to_start(shipped_engine: Engine) -> None:
    text = solution("exercise2").replace(
        "return queries, keys, values", "return torch.stack([queries, keys, values, keys])"
    )
    text = text.replace("from torch import", "import torch\nfrom torch import")
    result = _result_of(_without_parts(shipped_engine, "exercise2"), "exercise2", text)
    (failed,) = [c for c in result.checks if str(c.id) == "exercise2/AttentionHead/shape"]
    assert failed.message.startswith("`AttentionHead` raised ValueError: too many values to unpack")
    assert failed.next_step == (
        "`AttentionHead` uses `QKVProjection`, which is not right yet: start there"
    )


def test_layer_of_another_size_in_a_part_is_the_place_to_start(shipped_engine: Engine) -> None:
    text = solution("exercise2").replace(
        "self.to_keys = nn.Linear(embed_dim, head_dim,", "self.to_keys = nn.Linear(embed_dim, 9,"
    )
    result = _result_of(_without_parts(shipped_engine, "exercise2"), "exercise2", text)
    steps = {c.target: c.next_step for c in result.checks if c.kind is Kind.SHAPE and not c.id.name}
    assert steps["QKVProjection"] == "look at the sizes where the layer is made"
    assert steps["AttentionHead"] == (
        "`AttentionHead` uses `QKVProjection`, which is not right yet: start there"
    )


def test_explain_calls_operations_as_the_code_does(shipped_engine: Engine) -> None:
    text = """import torch

def self_attention(x):
    rows = x.reshape(x.shape)
    return torch.einsum("bij,bjk->bik", (rows @ rows.mT).softmax(-1), x) * 1
"""
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(shipped_engine, source, "exercise1", "self_attention")
    run = click.unstyle(render_run(trace, "exercise1", trace.target)).partition("tensor by tensor")[
        2
    ]
    names = [line.split()[0] for line in run.splitlines() if "(" in line]
    assert names == ["input", "mT", "@", "softmax", "einsum", "*"]


def test_mistakes_that_cannot_be_told_apart_have_the_passages_of_all(
    shipped_engine: Engine,
) -> None:
    text = solution("exercise3").replace(
        "heads_first = split.transpose(1, 2)", "split.transpose(1, 2)\n    heads_first = split"
    )
    titles = [one.title for one in _advice_of(shipped_engine, "exercise3", text).lesson]
    assert titles == ["Time and heads are mixed", "A result thrown away"]


def test_option_that_is_not_heard_has_the_passage_on_it(shipped_engine: Engine) -> None:
    text = solution("exercise4").replace('if activation == "relu"', "if True")
    titles = [one.title for one in _advice_of(shipped_engine, "exercise4", text).lesson]
    assert titles == ["The option unheard"]


def test_wrong_step_has_the_passage_on_its_formula_and_no_trap(shipped_engine: Engine) -> None:
    text = solution("exercise1").replace("products * factor", "products * factor**0.5")
    advice = _advice_of(shipped_engine, "exercise1", text)
    assert {one.section for one in advice.lesson} == {"The formulas"}
    shown = click.unstyle(render_told(Told(advice, 3), "exercise1"))
    assert "lesson, “The formulas”: Why a square root?" in shown


def test_passage_that_ends_before_its_drawing_is_named_and_not_quoted() -> None:
    lesson = (Passage("Shapes", "Folding, for two samples:", 54, "Folding"),)
    advice = Advice("one", "topic", "", ("First.", "Second."), lesson)
    assert "“Shapes”: “Folding” (line 54 of the stub)" in click.unstyle(
        render_told(Told(advice, 2), "e")
    )


def test_formula_of_a_quoted_passage_is_plain_text(shipped_engine: Engine) -> None:
    text = solution("exercise1").replace("products * factor", "products")
    advice = _advice_of(shipped_engine, "exercise1", text)
    shown = " ".join(click.unstyle(render_told(Told(advice, 2), "exercise1")).split())
    assert "has variance d. Dividing by √d brings the variance back to 1." in shown
    assert "$" not in shown


def test_what_no_passage_fits_is_sent_to_the_target_s_own_section(shipped_engine: Engine) -> None:
    advice = _advice(shipped_engine, "tuple-returned", "exercise3")
    assert advice is not None
    assert [f"{advice.target}(" in passage.section for passage in advice.lesson] == [True]


def test_hint_of_a_notebook_names_no_line(shipped_engine: Engine) -> None:
    advice = _advice(shipped_engine, "keys-from-queries", "exercise3")
    assert advice is not None
    assert "lesson, “Traps”: “The pasted line” (line " in render_told(Told(advice, 1), "exercise3")
    assert "(line " not in render_told(Told(advice, 1), "exercise3", notebook=True)


def _trace(engine: Engine, source: Source, exercise: str, target: str) -> Trace:
    course = engine.folder.course
    chosen = course.exercise(exercise)
    others = {e.id: Source(e.file, problem="not here") for e in course.exercises}
    submission = Submission({**others, exercise: source})
    run = engine.run(chosen, submission, quick=True)
    trace = trace_target(chosen.target(target), run)
    assert trace is not None
    return trace


def _text(sample: str, name: str) -> Source:
    text = (SUBMISSIONS / sample / name).read_text("utf-8")
    return Source(name, units=((name, text),))


def test_explain_finds_the_steps_of_a_right_run(shipped_engine: Engine) -> None:
    source = _text("perfect", "exercise3_multi_head.py")
    trace = _trace(shipped_engine, source, "exercise3", "fold_heads")
    assert trace.wrong == ""
    assert [step.name for step in trace.steps] == ["split", "heads_first", "folded"]
    shown = click.unstyle(render_run(trace, "exercise3", trace.target))
    assert re.search(r"folded +\(6, 6, 5\).*✓ the same values", shown)


def test_a_tensor_that_nothing_keeps_is_no_step(shipped_engine: Engine) -> None:
    text = edited(
        solution("exercise3"),
        ("heads_first = split.transpose(1, 2)", "split.transpose(1, 2)"),
        ("folded = heads_first.reshape", "folded = split.reshape"),
    )
    source = Source("exercise3_multi_head.py", units=(("exercise3_multi_head.py", text),))
    trace = _trace(shipped_engine, source, "exercise3", "fold_heads")
    states = {step.name: step.state for step in trace.steps}
    assert states == {"split": State.RIGHT, "heads_first": State.OPEN, "folded": State.WRONG}


def test_explain_shows_where_a_wrong_run_left_the_path(shipped_engine: Engine) -> None:
    source = _text("keys-from-queries", "exercise3_multi_head.py")
    trace = _trace(shipped_engine, source, "exercise3", "MultiHeadSelfAttention")
    assert trace.wrong == "keys"  # which the diagnosis tells, though they are made as well
    assert "bmm" in {made.operation for made in trace.made}


def test_explain_tells_a_call_of_a_layer_or_of_another_exercise_in_one_line(
    shipped_engine: Engine,
) -> None:
    source = _text("perfect", "exercise3_multi_head.py")
    trace = _trace(shipped_engine, source, "exercise3", "MultiHeadSelfAttention")
    run = click.unstyle(render_run(trace, "exercise3", trace.target)).partition("tensor by tensor")[
        2
    ]
    calls = [line.split()[0] for line in run.splitlines() if "()" in line]
    layers = ["to_queries()", "to_keys()", "to_values()"]
    assert calls == [*layers, "scaled_dot_product_attention()", "unify_heads()"]
    assert "attended; inside: scores, weights" in run
    assert "softmax" not in run


def test_explain_lists_what_helpers_of_the_file_do(shipped_engine: Engine) -> None:
    text = """import torch

def _scores(x):
    return x @ x.transpose(1, 2)

def self_attention(x):
    return torch.nn.functional.softmax(_scores(x), dim=-1) @ x
"""
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(shipped_engine, source, "exercise1", "self_attention")
    assert [(m.operation, m.call) for m in trace.made if m.steps] == [
        ("bmm", ""), ("_softmax", ""), ("bmm", "")
    ]  # fmt: skip


def test_explain_reads_the_rows_of_a_fused_layer_as_grading_did(shipped_engine: Engine) -> None:
    text = """from torch import nn

class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):
        super().__init__()
        self.heads, self.size = num_heads, head_dim or embed_dim // num_heads
        self.fused = nn.Linear(embed_dim, 3 * num_heads * self.size, bias=bias)
        self.unify_heads = nn.Linear(num_heads * self.size, embed_dim)

    def forward(self, x):
        parts = self.fused(x).unflatten(-1, (self.heads, 3, self.size)).permute(3, 0, 2, 1, 4)
        queries, keys, values = parts.unbind()
        scores = queries @ keys.transpose(-1, -2) / self.size**0.5
        attended = scores.softmax(-1) @ values
        return self.unify_heads(attended.transpose(1, 2).flatten(2))
"""
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(shipped_engine, source, "exercise3", "MultiHeadSelfAttention")
    assert {step.state for step in trace.steps} == {State.RIGHT}


def test_explain_shows_what_was_made_before_an_error(shipped_engine: Engine) -> None:
    body = "import torch\ndef fold_heads(x, num_heads):\n    y = x.unflatten(-1, (num_heads, -1))\n"
    source = Source("a.py", units=(("a.py", f"{body}    return y.reshape(7, 7)\n"),))
    trace = _trace(shipped_engine, source, "exercise3", "fold_heads")
    assert "shape '[7, 7]' is invalid" in trace.trouble
    right, stopped = State.RIGHT, State.NOT_REACHED
    assert [step.state for step in trace.steps] == [right, stopped, stopped]


def test_explain_runs_a_file_that_is_handed_over(run_grade: RunGrade) -> None:
    sample = SUBMISSIONS / "keys-from-queries"
    done = run_grade("explain", "exercise3", "--submission", sample)
    assert done.status == 0, done.err
    assert re.search(r"queries .*✓ the same values", click.unstyle(done.out))


def test_hint_begins_with_what_keeps_a_run_from_its_end(
    run_grade: RunGrade, tmp_path: Path
) -> None:
    thrown = (
        "    output = weights @ x  # (b, t, k)\n    return output",
        "    output = weights @ x",
    )
    other = ("weights = torch.softmax(scores, dim=-1)  # (b, t, t)", "weights = scores.softmax(1)")
    text = edited(solution("exercise1"), thrown, other)
    (tmp_path / "exercise1_attention.py").write_text(text, "utf-8")
    done = run_grade("hint", "1", "self_attention", "--all", "--submission", tmp_path)
    shown = " ".join(click.unstyle(done.out).split())
    assert "1 End with `return output`" in shown, shown
    assert "Add up the attention weights" in shown.partition("1 End with")[2]


def test_hint_begins_with_what_others_use(run_grade: RunGrade, tmp_path: Path) -> None:
    double = ("weights = torch.softmax(scores, dim=-1)  # (b, q, s)",
              "weights = scores.softmax(-1).softmax(-1).detach()")  # fmt: skip
    text = edited(solution("exercise1"), double)
    (tmp_path / "exercise1_attention.py").write_text(text, "utf-8")
    done = run_grade("hint", "1", "--submission", tmp_path)
    assert "exercise1 · attention_weights" in click.unstyle(done.out)


def test_hint_of_a_plain_number_sends_to_no_run(run_grade: RunGrade, tmp_path: Path) -> None:
    text = edited(solution("exercise12"), ("(peak - floor) * wave", "(peak - floor) * wave * 0.9"))
    (tmp_path / "exercise12_training.py").write_text(text, "utf-8")
    done = run_grade("hint", "12", "learning_rate", "--all", "--submission", tmp_path)
    shown = click.unstyle(done.out)
    assert "hint" in shown
    assert "explain" not in shown


def test_explain_says_where_it_shows_if_the_values_of_its_run_are_right(
    run_grade: RunGrade, tmp_path: Path
) -> None:
    whole = "output = self.unify_heads(unfolded)"
    for returned, said in ((whole, False), (f"{whole}.detach()", True), (f"{whole} * 2", False)):
        (tmp_path / "exercise3_multi_head.py").write_text(
            edited(solution("exercise3"), (whole, returned)), "utf-8"
        )
        done = run_grade("explain", "3", "MultiHeadSelfAttention", "--submission", tmp_path)
        shown = " ".join(click.unstyle(done.out).split())
        right = "The values of this run are right. What is wrong shows in `gradient`"
        assert (right in shown) is said, shown


def test_explain_shows_what_runs_in_inference_mode_to_its_end(shipped_engine: Engine) -> None:
    mode = (
        "    with torch.no_grad():\n        for",
        "    with torch.inference_mode():\n        for",
    )
    text = edited(solution("exercise11"), mode)
    file = "exercise11_generation.py"
    rounds = {}
    for name, body in (("plain", solution("exercise11")), ("own", text)):
        trace = _trace(
            shipped_engine, Source(file, units=((file, body),)), "exercise11", "generate"
        )
        rounds[name] = len({made.call for made in trace.made if "GivenModel" in made.call})
    assert rounds["own"] == rounds["plain"] > 1


def test_explain_shows_a_training_step_to_its_end(shipped_engine: Engine) -> None:
    twice = ("return loss.item()", "return loss_function(model, batch).item()")
    text, file = edited(solution("exercise12"), twice), "exercise12_training.py"
    source = Source(file, units=((file, text),))
    trace = _trace(shipped_engine, source, "exercise12", "training_step")
    calls = {made.call for made in trace.made if "DroppingSublayer" in made.call}
    assert len(calls) == 2


def test_explain_calls_no_step_wrong_that_was_not_reached(shipped_engine: Engine) -> None:
    text = edited(
        solution("exercise10"),
        ("positions = torch.arange(t, device", "positions = torch.arange(self.max_len, device"),
        ("decoded = self.decoder(embedded)", "decoded = self.decoder(self.norm(embedded))"),
        ("hidden = self.norm(decoded)", "hidden = decoded"),
    )
    file = "exercise10_language_model.py"
    source = Source(file, units=((file, text),))
    trace = _trace(shipped_engine, source, "exercise10", "LanguageModel")
    states = [step.state for step in trace.steps]
    ended = states.index(State.NOT_REACHED)
    assert State.WRONG not in states[ended:], states


def test_explain_names_a_step_at_the_line_that_makes_it(shipped_engine: Engine) -> None:
    own = """        b, t, _ = x.shape
        h = self.num_heads
        q, k, v = (
            layer(x).view(b, t, h, -1).transpose(1, 2)
            for layer in (self.to_queries, self.to_keys, self.to_values)
        )
        w = ((q @ k.mT) / q.size(-1) ** 0.5).softmax(-1)
        return self.unify_heads((w @ v).transpose(1, 2).reshape(b, t, -1))
"""
    text = solution("exercise3")
    begin = text.index("        queries = self.to_queries(x)")
    end = text.index("        ### END SOLUTION", begin)
    text, file = f"{text[:begin]}{own}{text[end:]}", "exercise3_multi_head.py"
    source = Source(file, units=((file, text),))
    trace = _trace(shipped_engine, source, "exercise3", "MultiHeadSelfAttention")
    shown = click.unstyle(render_run(trace, "exercise3", "MultiHeadSelfAttention"))
    assert re.search(r"softmax .* weights\n", shown), shown
    assert "inside: weights" not in shown


_OWN_SOFTMAX = "weights = torch.softmax(scores, dim=-1)"


def test_explain_lists_each_reshape_that_is_written(shipped_engine: Engine) -> None:
    """The keys stand for the values as well: the same tensor is split a second time."""
    again = ("folded_values = fold_heads(values", "folded_values = fold_heads(self.to_keys(x)")
    text, file = edited(solution("exercise3"), again), "exercise3_multi_head.py"
    source = Source(file, units=((file, text),))
    trace = _trace(shipped_engine, source, "exercise3", "MultiHeadSelfAttention")
    assert [made.values.shape for made in trace.made].count((2, 7, 3, 4)) == 4  # one is unfolded


def test_explain_ticks_what_a_run_without_a_return_made(shipped_engine: Engine) -> None:
    text = edited(solution("exercise1"), ("x  # (b, t, k)\n    return output", "x"))
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(shipped_engine, source, "exercise1", "self_attention")
    states = {step.name: step.state for step in trace.steps}
    assert states == {"scores": State.RIGHT, "weights": State.RIGHT, "output": State.OPEN}
    assert trace.trouble.startswith("What your run returned cannot be compared: ")


def test_explain_says_which_steps_follow_from_a_wrong_one(shipped_engine: Engine) -> None:
    text = edited(
        solution("exercise1"), (f"{_OWN_SOFTMAX}  # (b, t, t)", "weights = scores.softmax(1)")
    )
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(shipped_engine, source, "exercise1", "self_attention")
    shown = click.unstyle(render_run(trace, "exercise1", "self_attention"))
    assert re.search(r"output .* – follows from a wrong step\n", shown), shown
    assert "Not told" not in shown


def test_explain_says_of_a_lost_axis_that_the_values_came(shipped_engine: Engine) -> None:
    lost = ("    return log_probabilities", "    return log_probabilities.squeeze()")
    text = edited(solution("exercise7"), lost)
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(shipped_engine, source, "exercise7", "TransformerClassifier")
    assert trace.wrong == "log_probabilities"
    shown = click.unstyle(render_run(trace, "exercise7", "TransformerClassifier"))
    assert "✗ its values appear in another shape" in shown


def test_explain_says_of_a_fused_layer_that_the_values_are_in_it(shipped_engine: Engine) -> None:
    """What is cut along the wrong axis was made, side by side."""
    made = (
        "class QKVProjection(nn.Module):\n"
        "    def __init__(self, embed_dim, head_dim, *, bias=False):\n"
        "        super().__init__()\n"
        "        self.qkv = nn.Linear(embed_dim, 3 * head_dim, bias=bias)\n\n"
        "    def forward(self, x):\n"
        "        return self.qkv(x).chunk(3, dim=1)\n"
    )
    text = f"from torch import nn\n\n\n{made}"
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(shipped_engine, source, "exercise2", "QKVProjection")
    shown = click.unstyle(render_run(trace, "exercise2", "QKVProjection"))
    assert shown.count("✗ its values appear as a part of a wider tensor") == 3, shown


def test_explain_does_not_credit_a_blank_with_its_input(shipped_engine: Engine) -> None:
    source = _text("stub", "exercise3_multi_head.py")
    trace = _trace(shipped_engine, source, "exercise3", "fold_heads")
    assert State.RIGHT not in {step.state for step in trace.steps}
    assert "not written yet" in trace.trouble


def test_explain_tells_a_syntax_error_as_the_report_does(shipped_engine: Engine) -> None:
    source = Source("a.py", units=(("a.py", "def fold_heads(x, num_heads)\n    return x\n"),))
    trace = _trace(shipped_engine, source, "exercise3", "fold_heads")
    assert trace.trouble.startswith("Your run ended here: a.py could not be loaded: SyntaxError")


def test_explain_says_what_came_where_no_step_tells_it(shipped_engine: Engine) -> None:
    text = "def learning_rate(step, *, warmup, total, peak, floor=0.0):\n    return 0.25\n"
    trace = _trace(
        shipped_engine, Source("a.py", units=(("a.py", text),)), "exercise12", "learning_rate"
    )
    assert re.search(r"^In this case .* wrong values: .*, 0\.25 came$", trace.trouble)


@pytest.mark.parametrize(
    ("shape", "named"),
    [((2, 5, 12), "(b, t, h*d)"), ((6, 5, 4), "(b*h, t, d)"), ((7,), ""), ((), "()")],
)
def test_sizes_are_named_where_one_name_fits(shape: tuple[int, ...], named: str) -> None:
    assert name_sizes(shape, {"b": 2, "t": 5, "h": 3, "d": 4}, ("b*h", "h*d")) == named


def test_sizes_that_could_be_two_things_have_no_name() -> None:
    assert name_sizes((6,), {"b": 2, "t": 6, "h": 3}, ("b*h",)) == ""
    # heads that are folded into the batch, where the exercise does not write so
    assert name_sizes((6, 6, 5), {"b": 2, "h": 3, "t": 6, "d": 5}, ()) == ""
    assert name_sizes((6, 5), {"b": 1, "h": 3, "t": 6, "d": 5}, ()) == "(t, d)"


def test_a_letter_that_is_only_added_to_another_names_no_size(shipped_engine: Engine) -> None:
    """With n=4 and t=3 a text of four tokens is one of t + 1, and not of n."""
    source = Source("a.py", units=(("a.py", solution("exercise11")),))
    trace = _trace(shipped_engine, source, "exercise11", "generate")
    case = trace.case.dims
    assert trace.letters((case["b"], case["t"])) == "(b, t)"
    assert trace.letters((case["b"], case["n"])) == ""


def test_explain_gives_a_case_its_own_inputs(shipped_engine: Engine) -> None:
    """The dim that an argument stands for is not its value where a case gives another."""
    text = edited(solution("exercise12"), ("peak * (step + 1) / warmup", "peak * step / warmup"))
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(shipped_engine, source, "exercise12", "learning_rate")
    assert trace.shown_case == "the first step (warmup=4, total=12, peak=0.5); step = 0"


def test_a_deviation_that_waits_does_not_hide_what_is_wrong(shipped_engine: Engine) -> None:
    """Both are told, and the hints are about the values."""
    exercise = shipped_engine.folder.course.exercise("exercise9")
    key, target = shipped_engine.keys.keys["exercise9"], "DecoderLayer"
    said = ("dropout acts although none was asked for",)
    found = Diagnosis(target, (), "", "", deviations=said)
    wrong = CheckResult(
        CheckId("exercise9", target, Kind.NUMERIC), Status.FAILED, 0, 1, "wrong values", "look"
    )
    result = ExerciseResult("exercise9", "", Status.FAILED, 0, 1, (wrong,), (found,))
    advice = next_hint(exercise, key, result, [])
    assert advice is not None
    assert advice.finding == f"Wrong values. {found.sentence}"
    assert advice.hints[0] == "Look."


def test_what_shows_in_training_alone_does_not_lead_to_an_ordinary_run(
    shipped_engine: Engine,
) -> None:
    exercise = shipped_engine.folder.course.exercise("exercise5")
    key = shipped_engine.keys.keys["exercise5"]
    case = ShownCase("training", {"t": 1}, {}, {})
    check = CheckId("exercise5", "EncoderLayer", Kind.PROPERTY, "dropout-in-training")
    wrong = CheckResult(check, Status.FAILED, 0, 1, "too much", "look", case=case)
    result = ExerciseResult("exercise5", "", Status.FAILED, 0, 1, (wrong,))
    advice = next_hint(exercise, key, result, [])
    assert advice is not None
    assert advice.hints == ("Look.",)


def test_deviations_do_not_stand_before_what_ends_every_call(shipped_engine: Engine) -> None:
    text = edited(
        solution("exercise3"),
        ("fold_heads(queries, self.num_heads)", "fold_heads(queries.soft_max(), self.num_heads)"),
        ("raise ValueError(", "raise RuntimeError("),
    )
    exercise = shipped_engine.folder.course.exercise("exercise3")
    source = Source(exercise.file, ((exercise.file, text),))
    result = shipped_engine.run(exercise, Submission({exercise.id: source}), quick=True).result
    key = shipped_engine.keys.keys["exercise3"]
    advice = next_hint(exercise, key, result, [], "MultiHeadSelfAttention")
    assert advice is not None
    assert "soft_max" in advice.hints[0]
    assert "RuntimeError in place of a ValueError" in advice.finding


def test_a_step_that_changes_nothing_here_is_not_what_is_wrong(shipped_engine: Engine) -> None:
    """In post-norm the network gets norm1's output itself: only what is returned is wrong."""
    text = edited(
        solution("exercise5"),
        ("if self.norm_first else self.norm2(feed_forward_sum)", ""),
    )
    source = Source("exercise5_encoder_layer.py", (("exercise5_encoder_layer.py", text),))
    trace = _trace(shipped_engine, source, "exercise5", "EncoderLayer")
    assert trace.wrong == "output"
    assert {step.state for step in trace.steps} == {State.RIGHT, State.WRONG}


def test_a_mistake_that_does_not_act_in_a_case_breaks_no_step_of_it(shipped_engine: Engine) -> None:
    """Where no lengths are given, all places are real: the losses are right."""
    summed = 'nn.functional.cross_entropy(predictions[real], targets[real], reduction="sum")'
    whole = solution("exercise10")
    begin = whole.index("    log_probabilities = torch.log_softmax(predictions[real], dim=1)")
    end = whole.index("    return loss")
    text = edited(
        whole,
        (whole[begin:end], f"    loss = {summed} / b\n"),
        ("real = places < lengths[:, None]", "real = places <= lengths[:, None]"),
    )
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(shipped_engine, source, "exercise10", "next_token_loss")
    assert trace.wrong == "loss"


@pytest.mark.long
def test_what_a_second_mistake_breaks_is_not_right_because_it_is_made(
    folder: CourseFolder, keys: Keys, warm: WarmProcess
) -> None:
    """The right keys are made and not used: two layers have changed places."""
    text = edited(
        solution("exercise9"),
        ("queries = self.to_queries(x)", "queries = self.to_keys(x)"),
        ("fold_heads(keys, ", "fold_heads(self.to_queries(memory), "),
    )
    engine = Engine(folder, keys, Standins.of(folder), warm)
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(engine, source, "exercise9", "CrossAttention")
    states = {step.name: step.state for step in trace.steps}
    assert (states["queries"], states["keys"]) == (State.WRONG, State.OPEN)


def test_explain_takes_a_case_without_the_option_that_is_refused(shipped_engine: Engine) -> None:
    """Sizes are wrong in every case: the check tells it, and the refused option tells nothing."""
    text = edited(
        solution("exercise4"),
        ("hidden_dim: int | None = None", "d_ff: int = 77"),
        ("size = 4 * embed_dim if hidden_dim is None else hidden_dim", "size = d_ff"),
    )
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(shipped_engine, source, "exercise4", "FeedForward")
    case = trace.case
    assert (case.options, list(case.constructor), case.inputs) == ({}, ["embed_dim"], None)
    assert "`expand` returns 77 numbers, and should return 20" in trace.trouble


_JOINED = "unfolded = unfold_heads(attended, self.num_heads)  # (b, t, h*d)"


@pytest.mark.parametrize(
    ("line", "last"),
    [
        ("unfolded = attended.reshape(b, t, self.num_heads, -1)", (2, 7, 3, 4)),
        ("unfolded = self.to_queries(x)[..., :-1].sin()", (2, 7, 11)),
        ("unfolded = self.to_queries(attended.reshape(b, t, -1))[..., :-1] @ x", (2, 7, 11)),
    ],
    ids=["layer", "another layer before it", "product"],
)
def test_explain_lists_nothing_of_what_raised(
    shipped_engine: Engine, line: str, last: tuple[int, ...]
) -> None:
    """A linear layer makes its input flat before it is refused: that is no result of the layer."""
    text = edited(solution("exercise3"), (_JOINED, f"b, t, _ = x.shape\n        {line}"))
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(shipped_engine, source, "exercise3", "MultiHeadSelfAttention")
    assert trace.trouble.startswith("Your run ended here")
    assert trace.made[-1].values.shape == last


def test_explain_lists_a_call_that_came_to_its_end(shipped_engine: Engine) -> None:
    """Both calls stand in one line, and the outer one refuses before it makes anything."""
    text = edited(
        solution("exercise3"),
        ("self.unify_heads = nn", "self.norm = nn.LayerNorm(99)\n        self.unify_heads = nn"),
        ("output = self.unify_heads(unfolded)", "output = self.norm(self.unify_heads(unfolded))"),
    )
    source = Source("a.py", units=(("a.py", text),))
    trace = _trace(shipped_engine, source, "exercise3", "MultiHeadSelfAttention")
    assert trace.made[-1].steps == ("output",)


def test_each_of_two_mistakes_has_a_hint(shipped_engine: Engine) -> None:
    exercise = shipped_engine.folder.course.exercise("exercise2")
    key, target = shipped_engine.keys.keys["exercise2"], "AttentionHead"
    ways = (f"{target}/keys-as-values", f"{target}/missing-scale")
    hint = key.book.by_key(ways[0]).hints[0]
    found = Diagnosis(target, ways, "", hint, "It is both.", ways=ways)
    failed = CheckResult(CheckId("exercise2", target, Kind.NUMERIC), Status.FAILED, 0, 1)
    result = ExerciseResult("exercise2", "", Status.FAILED, 0, 1, (failed,), (found,))
    advice = next_hint(exercise, key, result, [])
    assert advice is not None
    first, second = (key.book.by_key(name) for name in ways)
    assert advice.hints == (*first.hints, f"Where {second.when}: {second.hints[-1]}")


def test_a_deviation_beside_a_mistake_has_a_hint(shipped_engine: Engine) -> None:
    text = edited(
        solution("exercise3"),
        ("keys = self.to_keys(x)", "keys = self.to_queries(x)"),
        (
            "nn.Linear(num_heads * size, embed_dim)",
            "nn.Linear(num_heads * size, embed_dim, bias=False)",
        ),
    )
    advice = _advice_of(shipped_engine, "exercise3", text)
    assert advice.topic == "keys-from-queries"
    assert sum("give `unify_heads` a bias" in hint for hint in advice.hints) == 1


def test_what_fails_beside_deviations_has_a_hint(shipped_engine: Engine) -> None:
    text = edited(
        solution("exercise7"),
        ("nn.Linear(embed_dim, num_classes)", "nn.Linear(embed_dim, num_classes, bias=False)"),
        (
            "nn.Embedding(vocab_size, embed_dim)",
            "nn.Embedding(vocab_size, embed_dim, padding_idx=0)",
        ),
    )
    exercise = shipped_engine.folder.course.exercise("exercise7")
    result, key = (
        _result_of(shipped_engine, "exercise7", text),
        shipped_engine.keys.keys["exercise7"],
    )
    advice = next_hint(exercise, key, result, [], "TransformerClassifier")
    assert advice is not None
    assert any("give `to_logits` a bias" in hint for hint in advice.hints[:-1])
    assert advice.hints[-1].startswith("`padding_idx=0` cuts the gradient off: do without it (")


def test_where_nothing_ran_the_lesson_is_next(shipped_engine: Engine) -> None:
    blank = _advice(shipped_engine, "stub", "exercise3")
    assert blank is not None
    assert not blank.ran
    text = edited(
        solution("exercise2"), ("QKVProjection(embed_dim, head_dim, bias=bias)", "QKVProjection")
    )
    advice = _advice_of(shipped_engine, "exercise2", text)
    assert not advice.ran
    assert not any("grade explain" in hint for hint in advice.hints)


def test_what_fails_comes_before_what_waits_for_training(shipped_engine: Engine) -> None:
    exercise = shipped_engine.folder.course.exercise("exercise12")
    learns = CheckId("exercise12", "build_digit_classifier", Kind.PROPERTY, "learns")
    causal = CheckId("exercise12", "build_text_model", Kind.PROPERTY, "causal")
    checks = (
        CheckResult(learns, Status.SKIPPED, 0, 1, "not trained yet", waits=True),
        CheckResult(causal, Status.FAILED, 0, 1, "it looks ahead", "look for a mask"),
    )
    result = ExerciseResult("exercise12", "", Status.FAILED, 0, 2, checks)
    advice = next_hint(exercise, shipped_engine.keys.keys["exercise12"], result, [])
    assert advice is not None
    assert (advice.target, advice.hints) == ("build_text_model", ("Look for a mask.",))


def test_samples_made_one_by_one_are_no_wrong_step(shipped_engine: Engine) -> None:
    text = solution("exercise1")
    start, end = text.index("def self_attention("), text.index("def attention_weights(")
    loop = """def self_attention(x):
    output = torch.zeros_like(x)
    for sample in range(len(x)):
        scores = x[sample] @ x[sample].T
        output[sample] = torch.softmax(scores, dim=-1) @ x[sample]
        return output


"""
    result = _result_of(shipped_engine, "exercise1", text[:start] + loop + text[end:])
    said = [d.sentence for d in result.diagnoses if d.target == "self_attention"]
    assert not any("scores ✗" in one for one in said)
