"""What only a notebook can say is taken out, and every line stays where it was."""

import pytest

from grader.handin.notebooks import neutralize_magics


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("x = 1\n", "x = 1\n"),
        ("%matplotlib inline\nx = 1", "pass  # %matplotlib inline\nx = 1"),
        ("!pip install torch", "pass  # !pip install torch"),
        ("if True:\n    !ls\nx = 1", "if True:\n    pass  # !ls\nx = 1"),
        ("files = !ls\nx = 1", "files = None  # !ls\nx = 1"),
        ("?print", "pass  # ?print"),
        ("print?", "pass  # print?"),
        ("%%time\nx = 1", "# %%time\nx = 1"),
        ("%%bash\nrm -r x", "# %%bash\n# rm -r x"),
        ("%%", "# %%"),
        ("x = 5\nx %2", "x = 5\nx %2"),
        ("x = '''\n%d\n''' % 3", "x = '''\n%d\n''' % 3"),
    ],
    ids=[
        "code",
        "line magic",
        "shell",
        "indented",
        "assigned",
        "help",
        "help behind",
        "cell magic",
        "shell cell",
        "bare",
        "modulo",
        "in a string",
    ],
)
def test_neutralize_magics_keeps_code_and_lines(cell: str, code: str) -> None:
    assert neutralize_magics(cell) == code
