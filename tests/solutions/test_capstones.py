"""The models that exercise 12 ends in: each check of them is failed by a submission."""

import pytest
from support import EXERCISES, GradeText, edited, find_check, solution, target_checks

from grader.records.results import Status

_DIGITS, _TEXT = "build_digit_classifier", "build_text_model"
EARLIER = {name: solution(name) for name in EXERCISES if name != "exercise12"}
_MEAN = "return self.classes(encoded.mean(dim=1))"
_MODEL = "    return model\n    ### END"


def _text_model(forward: str) -> tuple[str, str]:
    """Return an edit after which the text model is one of our own around the right one."""
    own = f"""
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model
        def forward(self, tokens):
            {forward}
    return Own()
    ### END"""
    return _MODEL, own


WRONG = {
    f"{_DIGITS}/shape": (_MEAN, "return self.classes(encoded)"),
    f"{_DIGITS}/gradient": (_MEAN, "return self.classes(encoded.mean(dim=1).detach())"),
    f"{_DIGITS}/property/batch-independent": (
        _MEAN,
        "return self.classes((encoded - encoded.mean(dim=0)).mean(dim=1))",
    ),
    f"{_DIGITS}/property/trained": (
        "self.classes = nn.Linear(embed_dim, 10)",
        "self.classes = nn.Linear(embed_dim, 10)\n            self.idle = nn.Linear(4, 4)",
    ),
    f"{_TEXT}/shape": _text_model("return self.model(tokens)[:, -1]"),
    f"{_TEXT}/gradient": _text_model("return self.model(tokens).detach()"),
    f"{_TEXT}/property/batch-independent": _text_model(
        "made = self.model(tokens); return made - made.mean(dim=0)"
    ),
    f"{_TEXT}/property/trained": (
        _MODEL,
        "    model.idle = nn.Linear(4, 4)\n    return model\n    ### END",
    ),
}


@pytest.mark.parametrize("check", WRONG)
def test_each_check_of_a_capstone_is_failed(check: str, grade_text: GradeText) -> None:
    result = grade_text({"exercise12": edited(solution("exercise12"), WRONG[check]), **EARLIER})
    assert find_check(result, check).status is Status.FAILED


def test_a_right_capstone_waits_only_for_its_training(grade_text: GradeText) -> None:
    result = grade_text({"exercise12": solution("exercise12"), **EARLIER})
    checks = [c for name in (_DIGITS, _TEXT) for c in target_checks(result, name)]
    assert {c.id.name for c in checks if c.waits} == {"learns"}
    assert all(c.waits or c.status is Status.PASSED for c in checks)
    assert {check.status for check in checks if check.waits} == {Status.SKIPPED}
