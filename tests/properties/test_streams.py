"""The kinds incremental, samples and seeded."""

from pathlib import Path

import numpy as np
import pytest
from small import course_of, judged

from grader.errors import CourseError
from grader.key.build import build_answer_key
from grader.properties.samples import _information
from grader.records.results import CheckResult, Status

RUNNING = """
name: running
kind: function
dims: {b: 2..4, t: 5..7}
inputs: {x: "float[b, t]"}
outputs: {sums: "float[b, t]", last: opaque}
properties: [{kind: incremental, dim: t, state: last}]
points: {shape: 1, numeric: 2, property: 1}
"""
RUN = """
import torch
KEPT = []
def running(x, last=None):
    {body}
"""
RIGHT_RUN = """
    sums = x.cumsum(1) if last is None else x.cumsum(1) + last
    return sums, sums[:, -1:]
"""
LISTED = """
    {begin}
    for moment in x.unbind(1):
        last{add}
    sums = torch.stack(last, 1).cumsum(1)[:, -x.size(1):]
    return sums, last
"""
IN_PLACE = LISTED.format(begin="last = [] if last is None else last", add=".append(moment)")
COPIED = LISTED.format(begin="last = list(last or [])", add=".append(moment)")
AT_MODULE = """
    if last is None:
        KEPT.clear()
    KEPT.extend(x.unbind(1))
    return torch.stack(KEPT, 1).cumsum(1)[:, -x.size(1):], True
"""
ONE_ONLY = """
    if last is not None and x.size(1) > 1:
        x, last = x.clone(), None
    sums = x.cumsum(1) if last is None else x.cumsum(1) + last
    return sums, sums[:, -1:]
"""
ALL_SO_FAR = """
    last = x if last is None else torch.cat([last, x], 1)
    return last.cumsum(1), last
"""
BUFFER = """
    room, count = (torch.zeros(len(x), 99), 0) if last is None else last
    room[:, count : count + x.size(1)] = x
    count += x.size(1)
    return room[:, :count].cumsum(1)[:, -x.size(1):], (room, count)
"""
DRAW = """
name: draw
kind: function
dims: {n: 2..3, v: 4..5}
inputs: {weights: "float[n, v]"}
options: {top: 1}
outputs: {numbers: "int[n] < v"}
properties:
  - kind: samples
    chances: shares
    generator: source
    case: {name: draws, options: {top: null}}
  - kind: seeded
    chances: shares
    case: {name: draws, options: {top: null}}
  - kind: seeded
    id: seeded-by-source
    chances: shares
    generator: source
    case: {name: draws, options: {top: null}}
points: {shape: 1, numeric: 2, property: 1}
"""
SHARES = "def shares(weights):\n    return weights.softmax(-1)\n"
DRAWN = """
import torch
def draw(weights, *, top=None, source=None):
    if top:
        return weights.argmax(-1)
    {body}
"""
ONE = "torch.multinomial({}, 1, generator=source)[:, 0]"
RIGHT_DRAW = "return " + ONE.format("weights.softmax(-1)")
BY_NOISE = """
    noise = torch.rand(weights.shape, generator=source).log().neg().log()
    return (weights - noise).argmax(-1)
"""
IN_TURN = """
    chances = weights.softmax(-1)
    drawn = [torch.multinomial(row, 1, generator=source) for row in chances]
    return torch.cat(drawn)
"""


def incremental(folder: Path, body: str) -> CheckResult:
    """Judge a body of `running`."""
    course = course_of(folder, RUNNING, RUN.format(body=RIGHT_RUN))
    return judged(course, RUN.format(body=body))["running/property/incremental"]


def draws(folder: Path, body: str, check: str) -> CheckResult:
    """Judge a body of `draw`."""
    course = course_of(folder, DRAW, DRAWN.format(body=RIGHT_DRAW))
    (course.solutions / "drawing.py").write_text(SHARES, encoding="utf-8")
    return judged(course, DRAWN.format(body=body))[f"draw/property/{check}"]


@pytest.mark.parametrize("body", [RIGHT_RUN, COPIED], ids=["sum", "all"])
def test_running_sum_goes_on_from_its_state(tmp_path: Path, body: str) -> None:
    assert incremental(tmp_path, body).status is Status.PASSED


def test_a_piece_that_comes_back_with_all_before_it_is_told(tmp_path: Path) -> None:
    check = incremental(tmp_path, ALL_SO_FAR)
    assert "`sums` has 15 places along t in all, where 5 were given" in check.message
    assert check.next_step.startswith("return what belongs to the piece that came")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (RIGHT_RUN.replace("x.cumsum(1) + last", "x.cumsum(1)"), "something else than at once"),
        (RIGHT_RUN.replace("sums[:, -1:]", "x[:, -1:]"), "something else than at once"),
        (ONE_ONLY, "something else than at once"),
        (RIGHT_RUN.replace("sums[:, -1:]", "None"), "something else than at once"),
        (IN_PLACE, "`last` that was given is changed by the call"),
        (AT_MODULE, "`last` that was given is changed by the call, or what is kept beside it"),
        (BUFFER, "`last` that was given is changed by the call"),
    ],
    ids=["ignored", "only one back", "one item only", "none", "in place", "beside it", "buffer"],
)
def test_what_is_lost_between_pieces_is_told(tmp_path: Path, body: str, said: str) -> None:
    check = incremental(tmp_path, body)
    assert check.status is Status.FAILED
    assert said in check.message


@pytest.mark.parametrize("body", [RIGHT_RUN, IN_PLACE], ids=["new", "used up"])
def test_state_that_is_given_once_may_be_used_up(tmp_path: Path, body: str) -> None:
    target = RUNNING.replace("state: last}", "state: last, once: true}")
    course = course_of(tmp_path, target, RUN.format(body=RIGHT_RUN))
    check = judged(course, RUN.format(body=body))["running/property/incremental"]
    assert check.status is Status.PASSED


def test_stub_is_not_incremental(tmp_path: Path) -> None:
    assert incremental(tmp_path, "raise NotImplementedError").status is not Status.PASSED


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("state: last", "state: sums2", "'sums2' is no output"),
        ("state: last", "state: sums", "no output has an axis 't'"),
        ('x: "float[b, t]"', 'x: "float[b]"', "no input has an axis 't'"),
    ],
)
def test_incremental_that_means_nothing_is_refused(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(CourseError, match=f"means nothing for running: .*{said}"):
        course_of(tmp_path, RUNNING.replace(old, new), "")


@pytest.mark.parametrize("body", [RIGHT_DRAW, BY_NOISE, IN_TURN], ids=["rows", "noise", "in turn"])
def test_draws_of_any_method_follow_the_probabilities(tmp_path: Path, body: str) -> None:
    for check in ("samples", "seeded", "seeded-by-source"):
        assert draws(tmp_path, body, check).status is Status.PASSED


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return weights.argmax(-1)", "equal rows of a batch all get the same"),
        ("return " + ONE.format("(weights / 1.5).softmax(-1)"), "do not follow"),
        ("return " + ONE.format("weights.softmax(-1).square()"), "do not follow"),
        ("return " + ONE.format("weights.softmax(-1).clamp(min=0.1)"), "do not follow"),
        ("return " + ONE.format("weights.softmax(-1)[:1].expand(len(weights), -1)"),
         "do not follow"),
        ("return (" + ONE.format("weights.softmax(-1)") + "[:1]).expand(len(weights))",
         "equal rows of a batch all get the same"),
        ("return " + ONE.format("weights.softmax(-1)") + " - 1", "that there is none of"),
        (
            "return " + ONE.format("weights.softmax(-1)").replace("[:, 0]", ".repeat(1, 2)"),
            "another shape",
        ),
        ("return " + ONE.format("weights.softmax(-1)") + ".double()", "another shape or dtype"),
    ],
    ids=["greedy", "warmer", "squared", "clamped", "first row", "one draw", "below", "shape",
         "dtype"],
)  # fmt: skip
def test_draws_that_are_wrong_are_told(tmp_path: Path, body: str, said: str) -> None:
    check = draws(tmp_path, body, "samples")
    assert check.status is Status.FAILED
    assert said in check.message


@pytest.mark.parametrize(
    ("body", "check", "said"),
    [
        ("return " + ONE.format("weights.softmax(-1)").replace("=source", "=None"),
         "seeded-by-source", "`source` is not what draws"),
        ("source and source.manual_seed(3); " + RIGHT_DRAW, "seeded-by-source",
         "whatever it has drawn before"),
        ("source and torch.manual_seed(source.initial_seed()); return "
         + ONE.format("weights.softmax(-1)").replace("=source", "=None"),
         "seeded-by-source", "whatever it has drawn before"),
        ("torch.manual_seed(0); " + RIGHT_DRAW, "seeded", "the draws are always the same"),
        ("source = source or torch.Generator(); " + RIGHT_DRAW, "seeded",
         "the draws are always the same"),
    ],
    ids=["no source", "seeded source", "begun again", "seeded", "same source"],
)  # fmt: skip
def test_draws_of_another_source_are_told(tmp_path: Path, body: str, check: str, said: str) -> None:
    found = draws(tmp_path, body, check)
    assert found.status is Status.FAILED
    assert said in found.message
    assert draws(tmp_path, body, "samples").status is Status.PASSED


@pytest.mark.parametrize("check", ["samples", "seeded", "seeded-by-source"])
def test_stub_draws_nothing(tmp_path: Path, check: str) -> None:
    assert draws(tmp_path, "raise NotImplementedError", check).status is not Status.PASSED


def test_right_counts_fail_as_seldom_as_is_said() -> None:
    # of 40 coins each count's probability is known: those that are called too far are summed
    heads = np.arange(41)
    log_factorial = np.concatenate([[0], np.cumsum(np.log(np.arange(1, 41)))])
    ways = log_factorial[40] - log_factorial[heads] - log_factorial[40 - heads]
    for chance in (0.02, 0.3, 0.5, 0.9):
        shares = np.exp(ways + heads * np.log(chance) + (40 - heads) * np.log(1 - chance))
        counts = np.stack([heads, 40 - heads], axis=-1)
        far = np.array([_information(c, np.array([chance, 1 - chance]))[0] for c in counts])
        for bound in (1.0, 5.0, 10.0):
            assert shares[far > bound].sum() <= 2 * np.exp(-bound)


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ("def share(weights):\n    return weights\n", "no function 'shares'; did you mean 'share'"),
        ("def shares(weights):\n    return weights\n", "each row should sum to one"),
        ("def shares(weights):\n    return weights.softmax(-1)[:1]\n", "returns the shape"),
        ("def shares(weights):\n    return 3\n", "does not return a tensor of float64"),
        ("def shares(weights):\n    return weights.softmx(-1)\n", "raises AttributeError"),
        ("def shares(weights):\n    return (weights / 2).softmax(-1)\n", "the reference fails"),
    ],
    ids=["missing", "sum", "shape", "type", "error", "wrong"],
)
def test_chances_that_are_wrong_are_refused(tmp_path: Path, shares: str, said: str) -> None:
    course = course_of(tmp_path, DRAW, DRAWN.format(body=RIGHT_DRAW))
    (course.solutions / "drawing.py").write_text(shares, encoding="utf-8")
    with pytest.raises(CourseError, match=said):
        build_answer_key(course, course.course.exercises[0], "public", b"public")


def test_draws_of_reals_mean_nothing(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match="does not return one tensor of whole numbers"):
        course_of(tmp_path, DRAW.replace("int[n] < v", "float[n]"), "")
