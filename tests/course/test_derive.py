"""A stub is what stands around the markers of its solution."""

import pytest

from grader.course.derive import derive_stub, solution_lines

MARKED = "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n"


def test_derive_stub_puts_not_implemented_in_place() -> None:
    assert derive_stub(MARKED) == "def f():\n    raise NotImplementedError\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MARKED.replace("### END SOLUTION", ""), "do not pair"),
        (MARKED.replace("### BEGIN SOLUTION", ""), "do not pair"),
        ("def f():\n    return 1\n", "nothing is left"),
    ],
    ids=["no end", "no begin", "no markers"],
)
def test_derive_stub_refuses_markers_that_do_not_pair(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        derive_stub(text)


def test_solution_lines_are_those_between_the_markers() -> None:
    assert solution_lines(MARKED) == ["return 1"]
