"""A notebook that is too much is refused before any tool for notebooks has it."""

from types import SimpleNamespace
from typing import Any

import pytest
from monsters import NOTEBOOKS
from support import ROOT
from traitlets.config import Config

from grader.course.load import load_course
from grader.nbgrader.bulk import Steps, StudentGrader
from grader.nbgrader.gradebook import Sheet
from grader.nbgrader.handin import Handin
from grader.nbgrader.verdicts import NotebookGrader

# nbgrader and what it is made of warn about themselves, which is none of ours
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("10,000 cells", "holds more than 1000 cells"),
        ("metadata", "holds more than 100000 values beside its outputs"),
    ],
)
def test_notebook_that_is_too_much_comes_to_no_tool_for_notebooks(name: str, said: str) -> None:
    engine: Any = SimpleNamespace(folder=load_course(ROOT))
    sheets = {"exercise1": Sheet("exercise1", "", {})}
    grader = StudentGrader(sheets, NotebookGrader(engine), Steps((), (), Config()))
    handin = Handin("ada", notebooks={"exercise1": NOTEBOOKS[name].encode()})
    (graded,) = grader.grade(handin).notebooks
    step = "hand in only the cells that the exercise asks for"
    assert graded.problem == f"exercise1.ipynb {said}: {step}"
