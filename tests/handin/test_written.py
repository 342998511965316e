"""The word that stands in a submission's own text for an operation."""

import ast

import pytest

from grader.handin.read import Source
from grader.handin.written import written_at


def _place(code: str, part: str) -> tuple[int, ...]:
    start = code.index(part)
    return (0, 1, 1, start, start + len(part))


@pytest.mark.parametrize(
    ("code", "part", "word"),
    [
        ("y = x.reshape(2, 3)", "x.reshape(2, 3)", "reshape"),
        ("y = x.reshape(2, 3).mT", "x.reshape(2, 3).mT", "mT"),
        ("y = torch.softmax(x @ y, dim=-1)", "torch.softmax(x @ y, dim=-1)", "softmax"),
        ("y = torch.softmax(x @ y, dim=-1)", "x @ y", "@"),
        ("y = softmax(x)", "softmax(x)", "softmax"),
        ("y = -x", "-x", "-"),
        ("x *= 2", "x *= 2", "*="),
        ("y = x < 2", "x < 2", "<"),
        ("y = x[:, None]", "x[:, None]", "[ ]"),
        ("y = x", "y", ""),
    ],
)
def test_operation_is_called_as_it_is_written(code: str, part: str, word: str) -> None:
    ast.parse(code)
    source = Source("a.py", units=(("a.py", code),))
    assert written_at(source, _place(code, part)) == word


@pytest.mark.parametrize("place", [(), (0,), (9, 1, 1, 0, 1), (0, 7, 7, 0, 1), (0, 1, 1, 0, 99)])
def test_place_that_is_none_has_no_word(place: tuple[int, ...]) -> None:
    assert written_at(Source("a.py", units=(("a.py", "y = x.T"),)), place) == ""


def test_text_that_cannot_be_parsed_has_no_word() -> None:
    assert written_at(Source("a.py", units=(("a.py", "y = ("),)), (0, 1, 1, 0, 5)) == ""
