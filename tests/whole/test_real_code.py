"""Code as people really write it: what each report says, word by word, and what it is worth."""

import re
import shutil

import click
import pytest
from support import GOLDEN, ROOT, SUBMISSIONS, Grade

from grader.records.results import ExerciseResult, Kind, Status
from grader.report.terminal import render_result

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("pairs")]  # pairs of bugs take minutes
CODE = ROOT / "tests" / "real_code"
NAMES = sorted(path.name for path in CODE.iterdir())
_PLAIN = "Right values where no option is given."
# what the first target that is not right must say, whatever else the golden holds
SAID = {
    "a-layer-too-few": "layer",
    "biases-and-no-transpose": "the heads are unfolded without a transpose",
    "dropout-always": "Two calls with the same input give different outputs",
    "dropout-on-the-hidden-layer": "dropout falls on the hidden layer.*KeyError in place of",
    "dropout-on-weights": "Right values.*dropout acts although none was asked for",
    "falls-through": "norm_first",
    "fused-without-transpose": "the heads are unfolded without a transpose",
    "head-dim-unheard": f"{_PLAIN} One deviation: `head_dim` is not used",
    "heads-not-unfolded": "cannot be multiplied",
    "last-bias-missing": "the missing bias is zero.*`w_o`, used as `unify_heads`, has no bias",
    "list-of-four": f"{_PLAIN} Three deviations",
    "names-that-tell-nothing": "the names do not tell which layer is which",
    "one-speed": "integers",
    "pre-norm-and-own-norm": "pre-norm whatever norm_first says",
    "sum-without-keepdim": "",
    "three-deviations": f"{_PLAIN} Three deviations: - biases although bias=False",
}
RIGHT = (
    "dropout-on-weights",
    "head-dim-unheard",
    "last-bias-missing",
    "list-of-four",
    "names-that-tell-nothing",
    "three-deviations",
)


@pytest.fixture(scope="session")
def report_on(grade: Grade, tmp_path_factory: pytest.TempPathFactory) -> dict[str, ExerciseResult]:
    """Grade each program once, beside right work of the exercises before it."""
    found = {}
    for name in NAMES:
        (file,) = (CODE / name).glob("*.py")
        folder = tmp_path_factory.mktemp("work") / name
        shutil.copytree(SUBMISSIONS / "perfect", folder)
        shutil.copy(file, folder)
        found[name] = grade(folder, file.name.split("_")[0])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_report_reads_as_it_should(
    name: str, report_on: dict[str, ExerciseResult], request: pytest.FixtureRequest
) -> None:
    path = GOLDEN / "real_code" / f"{name}.txt"
    text = click.unstyle(render_result(report_on[name])) + "\n"
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert re.search(SAID[name], " ".join(text.split()))
    assert text == path.read_text("utf-8")


@pytest.mark.parametrize("name", RIGHT)
def test_code_right_at_its_defaults_keeps_its_points(
    name: str, report_on: dict[str, ExerciseResult]
) -> None:
    result = report_on[name]
    (target,) = (t for t in result.targets if t.name == "MultiHeadSelfAttention")
    assert target.score >= 0.85 * target.max_score
    numeric = [c for c in target.checks if c.kind is Kind.NUMERIC and not c.id.name]
    assert [check.status for check in numeric] == [Status.PASSED]


def test_every_program_says_what_it_should() -> None:
    assert sorted(SAID) == NAMES
