"""NO_COLOR and FORCE_COLOR say whether output has colours, wherever it goes."""

import pytest
from support import RunGrade

_ESCAPE = "\x1b["


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [
        ({"NO_COLOR": "", "FORCE_COLOR": ""}, False),
        ({"NO_COLOR": "", "FORCE_COLOR": "1"}, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
    ids=["a pipe", "forced", "both"],
)
def test_environment_says_whether_there_are_colours(
    run_grade: RunGrade,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    coloured: bool,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    shown = run_grade("hint", "exercise1")
    assert (_ESCAPE in shown.out) == coloured
