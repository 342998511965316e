"""Outputs in float32 where all is float32, as it is outside of grading."""

import pytest
from support import GradeText, assert_full, edited, find_check, solution

from grader.records.results import Status

_TABLE = "encoding = torch.zeros(seq_len, embed_dim)"
_KEPT = 'self.register_buffer("encoding", sinusoidal_encoding(max_len, embed_dim))'
_CHECK = "SinusoidalPositionEncoding/property/dtype"


@pytest.fixture(scope="module")
def reference() -> str:
    return solution("exercise6")


def test_table_made_in_numpy_is_told(grade_alone: GradeText, reference: str) -> None:
    text = edited(
        reference,
        ("import torch\n", "import numpy\nimport torch\n"),
        ("return encoding\n", "return torch.from_numpy(numpy.array(encoding, dtype='float64'))\n"),
    )
    result = grade_alone({"exercise6": text})
    check = find_check(result, "sinusoidal_encoding/property/dtype")
    assert check.message == "the output is float64 where torch's default dtype is float32"
    assert find_check(result, "sinusoidal_encoding/numeric").status is Status.PASSED
    (found, *_) = result.diagnoses
    assert found.deviations == (check.message,)
    assert find_check(result, _CHECK).message == (
        "the output is float64 where the input is float32"
    )


def test_error_in_float32_is_told(grade_text: GradeText, reference: str) -> None:
    text = edited(
        reference,
        ("output = x + encoding", "output = x + torch.eye(t).double() @ encoding"),
    )
    check = find_check(grade_text({"exercise6": text}), _CHECK)
    assert check.message.startswith("in float32, ")
    assert "expected m1 and m2 to have the same dtype" in check.message


@pytest.mark.parametrize(
    "edits",
    [
        (
            ("def sinusoidal_encoding", "_STEPS = torch.arange(99.0)\n\n\ndef sinusoidal_encoding"),
            (
                "torch.arange(seq_len, dtype=torch.get_default_dtype())",
                "_STEPS[:seq_len]",
            ),
            (_TABLE, "encoding = torch.zeros(seq_len, embed_dim, dtype=_STEPS.dtype)"),
        ),
        (
            ("import torch\n", "from functools import cache\n\nimport torch\n"),
            ("def sinusoidal_encoding", "@cache\ndef sinusoidal_encoding"),
            (_KEPT, _KEPT.replace("))", ").clone())")),
        ),
    ],
    ids=["of the module", "cached"],
)
def test_table_from_before_is_of_its_time(
    grade_text: GradeText, reference: str, edits: tuple[tuple[str, str], ...]
) -> None:
    """What is made once is made in float32 where all is: another child tells."""
    assert_full(grade_text({"exercise6": edited(reference, *edits)}))
