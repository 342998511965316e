"""Of several known bugs with the same values, those that fit in other respects come first."""

import numpy as np
import pytest

from grader.records.answers import AnswerStatus
from grader.records.signatures import Code, Signature, Suspects

RAISED = list(AnswerStatus).index(AnswerStatus.RAISED)
CALLS = 3


def signature(text: int = 0, form: int = 0) -> Signature:
    """Return a signature of calls of which the last raises; the first has a form."""
    codes = np.zeros((CALLS, len(Code)), dtype=np.int64)
    codes[-1, Code.ENDED] = RAISED
    codes[-1, Code.TEXT] = text
    codes[0, Code.FORM] = form
    values, failing = np.zeros((CALLS, 3)), np.zeros(0, dtype=np.uint8)
    return Signature(codes, values, failing, np.zeros(CALLS, dtype=bool))


SUSPECTS = Suspects.gather(
    [
        (("a",), signature(text=1)),
        (("b",), signature(text=2)),
        (("c",), signature(text=1, form=5)),
    ]
)
FOUND = {("a",): 0.0, ("b",): 0.0, ("c",): 0.0, ("b", "c"): 0.0}


@pytest.mark.parametrize(
    ("seen", "kept"),
    [
        (signature(text=1), [("a",)]),
        (signature(text=2), [("b",)]),
        (signature(text=1, form=5), [("a",), ("c",), ("b", "c")]),
        (signature(text=1, form=7), [("a",)]),
        (signature(text=3), [("a",), ("b",)]),  # none raises in these words
    ],
    ids=["words and form", "other words", "its form came", "another came", "unknown words"],
)
def test_alike_in_form(seen: Signature, kept: list[tuple[str, ...]]) -> None:
    found = SUSPECTS.alike_in_form(FOUND, seen, signature(), range(CALLS))
    assert list(found) == kept
