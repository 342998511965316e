"""A mistake costs once: what uses a wrong part of its file is judged beside a right one."""

import ast

import pytest
from support import ROOT, GradeText, all_told, edited, solution, target_checks

from grader.course.load import load_course
from grader.grading.jobs import Standins
from grader.grading.parts import parts_of
from grader.records.results import ExerciseResult
from grader.student.beside import beside_run

HEADS = solution("exercise3")
DECODER = solution("exercise9")
MODEL = solution("exercise10")
EARLIER = {f"exercise{number}": solution(f"exercise{number}") for number in range(1, 10)}
_FOLDER = load_course(ROOT)
_USERS = [
    (exercise, target)
    for exercise in _FOLDER.course.exercises
    for target in exercise.targets
    if target.uses
]


def _share(result: ExerciseResult, target: str) -> float:
    checks = target_checks(result, target)
    return sum(check.score for check in checks) / sum(check.max_score for check in checks)


def _wrong_norm() -> str:
    return edited(DECODER, ("torch.sqrt(variance + self.eps)", "variance.add(self.eps)"))


def test_right_code_keeps_its_points_beside_a_wrong_part(grade_text: GradeText) -> None:
    result = grade_text({"exercise9": _wrong_norm()})
    assert _share(result, "LayerNorm") < 0.2
    assert _share(result, "DecoderLayer") == 1
    (note,) = result.all_notes
    assert note == (
        "`DecoderLayer`: judged with a right `LayerNorm` in place of yours, which is not right yet"
    )


def test_several_parts_may_be_wrong(grade_text: GradeText) -> None:
    text = edited(
        HEADS,
        ("    return folded\n", "    return -folded\n"),
        ("    return unfolded\n", "    return 2 * unfolded\n"),
    )
    result = grade_text({"exercise3": text})
    assert _share(result, "MultiHeadSelfAttention") == 1
    assert "with right `fold_heads` and `unfold_heads` in place of yours" in result.all_notes[0]


def test_line_that_is_left_of_the_stub_behind_the_code_stops_nothing(grade_text: GradeText) -> None:
    """What the code ends in then is said by the part, and not by the target itself."""
    text = edited(
        solution("exercise1"),
        (
            "    products = query @ key.transpose(1, 2)",
            "    raise NotImplementedError\n    products = 0",
        ),
        (
            "weights @ value  # (b, q, w)\n    return output\n",
            "weights @ value\n    return output\n    raise NotImplementedError\n",
        ),
    )
    result = grade_text({"exercise1": text})
    assert _share(result, "attention_weights") == 0
    assert _share(result, "scaled_dot_product_attention") == 1


def test_part_that_is_not_written_costs_its_own_points(grade_text: GradeText) -> None:
    begun, body = MODEL.partition("class LanguageModel")[::2]
    ended = body.partition("    ### END SOLUTION\n\n\n# %%")[2]
    stub = (
        "class LanguageModel(nn.Module):\n    def __init__(self, *sizes):\n"
        "        raise NotImplementedError\n\n\n# %%"
    )
    result = grade_text({"exercise10": f"{begun}{stub}{ended}"} | EARLIER)
    assert _share(result, "LanguageModel") == 0
    assert _share(result, "build_language_model") == 1


def test_own_mistake_is_named_beside_a_wrong_part(grade_text: GradeText) -> None:
    text = edited(
        _wrong_norm(),
        (
            "attended = self.self_attention(self_attention_input, mask)",
            "attended = self.self_attention(x, mask)",
        ),
    )
    told = all_told(grade_text({"exercise9": text}), "DecoderLayer")
    assert "LayerNorm" not in told
    assert "self_attention_input" in told or "norm" in told


def test_parts_that_suit_each_other_are_left_as_they_are(grade_text: GradeText) -> None:
    """Head by head instead of sample by sample, in both: the module that uses them is right."""
    text = edited(
        HEADS,
        ("split.transpose(1, 2)  # (b, h, t, d)", "split.permute(2, 0, 1, 3)"),
        ("x.reshape(b, num_heads, t, d)", "x.reshape(num_heads, b, t, d).transpose(0, 1)"),
    )
    result = grade_text({"exercise3": text})
    assert _share(result, "MultiHeadSelfAttention") == 1
    assert not result.all_notes


@pytest.mark.parametrize(("exercise", "target"), _USERS, ids=lambda one: getattr(one, "name", ""))
def test_stand_in_holds_the_parts_and_no_other_target(exercise, target) -> None:  # type: ignore[no-untyped-def]
    text = parts_of(Standins.of(_FOLDER).sources[exercise.stem], exercise, target.uses)
    tree = ast.parse(text)
    defined = {one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)}
    assert defined >= set(target.uses)
    others = {one.name for one in exercise.targets} - set(target.uses)
    assert not others & defined
    names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    assert not others & names


def test_what_only_others_need_is_left_out() -> None:
    exercise = _FOLDER.course.exercise("exercise10")
    text = parts_of(Standins.of(_FOLDER).sources[exercise.stem], exercise, ["LanguageModel"])
    assert "_Block" not in text


def test_part_that_the_stand_in_lacks_has_no_text() -> None:
    exercise = _FOLDER.course.exercise("exercise3")
    assert parts_of("def fold_heads(): ...", exercise, ["fold_heads", "unfold_heads"]) == ""


@pytest.mark.parametrize(
    "stolen",
    [
        "import right_parts\n    return right_parts.build_language_model(**given)",
        "import sys\n    return sys.modules['right_parts'].build_language_model(**given)",
        "import exercise10_language_model as m\n    return m.build_language_model.right(**given)",
        "return vars(sys.modules[LanguageModel.__module__])['build_language_model'](**given)",
    ],
)
def test_a_submission_finds_no_stand_in_of_what_is_judged(
    grade_text: GradeText, stolen: str
) -> None:
    begun = MODEL.partition("def build_language_model")[0]
    given = {"exercise10": edited(MODEL, ("logits = hidden @", "logits = 2 * hidden @"))}
    assert _share(grade_text(given | EARLIER), "build_language_model") == 1  # honest work
    text = edited(begun, ("logits = hidden @", "logits = 2 * hidden @"))
    text += (
        "import sys\n\n\ndef build_language_model("
        "vocab_size, embed_dim, num_heads, depth, max_len, *, dropout=0.0):\n"
        "    given = dict(vocab_size=vocab_size, embed_dim=embed_dim, num_heads=num_heads,\n"
        "                 depth=depth, max_len=max_len, dropout=dropout)\n"
        f"    {stolen}\n"
    )
    assert _share(grade_text({"exercise10": text} | EARLIER), "build_language_model") < 0.15


def test_code_that_has_a_part_by_another_name_is_judged_with_its_own(
    grade_text: GradeText,
) -> None:
    """The name is bound to a right part when the file has run: here it was looked up before."""
    text = edited(
        _wrong_norm(),
        ("class DecoderLayer", "_Own = LayerNorm\n\n\nclass DecoderLayer"),
        ("self.norm1 = LayerNorm(embed_dim)", "self.norm1 = _Own(embed_dim)"),
        ("self.norm2 = LayerNorm(embed_dim)", "self.norm2 = _Own(embed_dim)"),
        ("self.norm3 = LayerNorm(embed_dim)", "self.norm3 = (LayerNorm, _Own)[1](embed_dim)"),
    )
    result = grade_text({"exercise9": text})
    assert not result.all_notes
    assert "The same mistake as in `LayerNorm`" in all_told(result, "DecoderLayer")


def test_explain_says_what_a_run_was_made_with(grade_text: GradeText) -> None:
    result = grade_text({"exercise9": _wrong_norm()})
    (said,) = beside_run("exercise9", result, "DecoderLayer")
    assert said.startswith("Note: `DecoderLayer`: judged with a right `LayerNorm`")
    assert not any("Note" in one for one in beside_run("exercise9", result, "LayerNorm"))
