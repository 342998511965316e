"""The page of `grade check --html`: complete in itself, escaped, and drawn by a real browser."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from drawn import colours, screenshot
from support import SUBMISSIONS, edited, solution

from grader.grading.engine import Engine
from grader.grading.exhibits import Drawing, Exhibit, exhibits_of, make_panel
from grader.handin.read import read_submission
from grader.records.ids import CheckId
from grader.records.results import (
    CheckResult,
    Diagnosis,
    Document,
    ExerciseResult,
    Kind,
    ShownCase,
    Status,
)
from grader.report.pages import render_page
from grader.report.pictures import colour, flow, heat_maps

_EVIL = "<script>alert('x')</script>\"'&"


class _Reader(HTMLParser):
    """Counts tags, and checks that they close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [str(v) for name, v in attrs if name in ("src", "href", "action")]
        if tag not in ("meta", "br", "rect", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "line"):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def _read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def _page(engine: Engine, sample: str | Path, exercise: str) -> tuple[str, tuple[Exhibit, ...]]:
    course = engine.folder.course
    chosen = course.exercise(exercise)
    submission = read_submission(SUBMISSIONS / sample, course, [chosen], 2**21)
    run = engine.run(chosen, submission, quick=True)
    exhibits = exhibits_of(chosen, run)
    return render_page(engine.sum_up([run.result]), {exercise: exhibits}), exhibits


def test_page_shows_points_diagnosis_and_pictures(shipped_engine: Engine) -> None:
    page, exhibits = _page(shipped_engine, "keys-from-queries", "exercise3")
    reader = _read(page)
    assert "7.5 / 20 points" in reader.text
    assert "the keys are made from the queries" in reader.text
    assert "first step known to be wrong: keys" in reader.text
    assert {e.target for e in exhibits} == {
        "fold_heads", "unfold_heads", "MultiHeadSelfAttention",
    }  # fmt: skip
    weights = [p for e in exhibits for p in e.panels if p.title == "weights"]
    assert weights
    assert weights[0].actual is not None
    assert not np.allclose(weights[0].expected, weights[0].actual)


def test_only_tensor_of_a_wrong_step_s_shape_is_probably_it(
    shipped_engine: Engine, tmp_path: Path
) -> None:
    """What stands in place of the weights is no distribution, but nothing else can be meant."""
    (tmp_path / "exercise1_attention.py").write_text(
        "def self_attention(x):\n    return (x @ x.transpose(1, 2)).relu() @ x\n", encoding="utf-8"
    )
    page, exhibits = _page(shipped_engine, tmp_path, "exercise1")
    weights = [p for e in exhibits for p in e.panels if p.title == "weights"]
    assert [panel.probable for panel in weights] == [True]
    assert "yours, probably this one (" in page
    assert "a grey step is not judged: it follows a wrong one" in page


def test_step_that_a_loop_makes_piece_by_piece_is_not_said_to_be_missing(
    shipped_engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "exercise1_attention.py").write_text(
        "import torch\n\ndef self_attention(x):\n    rows = []\n    for one in x:\n"
        "        weights = (one @ one.T).softmax(-1)\n"
        "        rows.append(weights @ one)\n    return torch.stack(rows)\n",
        encoding="utf-8",
    )
    _, exhibits = _page(shipped_engine, tmp_path, "exercise1")
    (weights,) = (p for p in exhibits[0].panels if p.title == "weights")
    assert exhibits[0].drawing is not None
    assert "weights" in exhibits[0].drawing.right
    assert weights.missing == "made piece by piece, with the same values"


def test_step_made_in_another_order_is_neither_ticked_nor_drawn_where_the_output_is_right(
    shipped_engine: Engine, tmp_path: Path
) -> None:
    text = edited(
        solution("exercise3"),
        ("heads_first = split.transpose(1, 2)", "heads_first = split.permute(2, 0, 1, 3)"),
        ("x.reshape(b, num_heads, t, d)", "x.reshape(num_heads, b, t, d)"),
        ("separated.transpose(1, 2)", "separated.permute(1, 2, 0, 3)"),
    )
    (tmp_path / "exercise3_multi_head.py").write_text(text, encoding="utf-8")
    _, exhibits = _page(shipped_engine, tmp_path, "exercise3")
    shown = next(one for one in exhibits if one.target == "MultiHeadSelfAttention")
    assert shown.drawing is not None
    assert {"queries", "output"} <= shown.drawing.right
    assert not {"scores", "weights", "attended"} & shown.drawing.right
    assert [panel.title for panel in shown.panels] == ["output"]


def test_page_shows_position_encodings(shipped_engine: Engine) -> None:
    _, exhibits = _page(shipped_engine, "perfect", "exercise6")
    first = exhibits[0].panels[0]
    assert first.title == "encoding"
    assert first.actual is not None
    assert np.allclose(first.expected, first.actual)
    assert exhibits[0].drawing is not None
    assert exhibits[0].drawing.wrong == ()


def test_page_needs_nothing_from_outside(shipped_engine: Engine) -> None:
    page, _ = _page(shipped_engine, "keys-from-queries", "exercise3")
    reader = _read(page)
    assert reader.links == []
    assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
    assert not re.search(r"url\(|@import|https?://", page)


def test_page_escapes_all_that_a_submission_says() -> None:
    check = CheckResult(
        CheckId("exercise1", _EVIL, Kind.SHAPE), Status.FAILED, 0, 1, _EVIL, _EVIL,
        case=ShownCase(_EVIL, {_EVIL: 1}, {}, {}),
    )  # fmt: skip
    result = ExerciseResult(
        "exercise1", _EVIL, Status.FAILED, 0, 1, (check, replace(check, message=f"{_EVIL} 2")),
        (Diagnosis(_EVIL, (_EVIL,), _EVIL, _EVIL, _EVIL),), (_EVIL,), _EVIL,
    )  # fmt: skip
    panel = make_panel(_EVIL, np.eye(2), None)
    drawing = Drawing((_EVIL,), ((_EVIL,),), frozenset(), (_EVIL,))
    exhibits = {"exercise1": (Exhibit(_EVIL, _EVIL, (panel,), drawing),)}
    page = render_page(Document(_EVIL, _EVIL, _EVIL, (result,)), exhibits)
    reader = _read(page)
    assert "script" not in reader.tags
    assert reader.text.count("alert('x')") >= 10


def test_page_of_a_blank_has_no_pictures(shipped_engine: Engine) -> None:
    page, _ = _page(shipped_engine, "stub", "exercise3")
    assert "<svg" not in page


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "#f7f7f7"),
        (2.0, "#b2182b"),
        (9.0, "#b2182b"),
        (-2.0, "#2166ac"),
        (float("nan"), "#000000"),
        (float("inf"), "#000000"),
    ],
)
def test_colour_tells_sign_size_and_what_is_no_number(value: float, shown: str) -> None:
    assert colour(value, 2.0) == shown


def test_heat_map_has_a_cell_for_each_number_with_its_value() -> None:
    panel = make_panel("a", np.array([[1.0, -0.25], [0.5, 0.0], [2.0, 3.0]]), None)
    (picture,) = heat_maps(panel)
    places = re.findall(r'd="(M\d \d)h1v1h-1z"', picture.squares)
    assert places == ["M0 0", "M1 0", "M0 1", "M1 1", "M0 2", "M1 2"]
    assert re.findall("<title>(.*?)</title>", picture.squares)[1] == "[0, 1] -0.25"
    assert (picture.width, picture.height) == (2 * 16, 3 * 16)


def test_heat_maps_share_the_colours_of_what_was_expected() -> None:
    expected, actual = heat_maps(make_panel("a", np.array([[2.0]]), np.array([[1.0]])))
    assert f'fill="{colour(2.0, 2.0)}"' in expected.squares
    assert f'fill="{colour(1.0, 2.0)}"' in actual.squares


def test_panel_of_a_large_tensor_is_cut_and_says_where() -> None:
    panel = make_panel("x", np.zeros((2, 3, 40, 50)), np.zeros((7,)))
    assert panel.expected.shape == (24, 24)
    assert panel.slice == "[0, 0, :, :]"
    assert panel.actual is not None
    assert panel.actual.shape == (1, 7)


def test_panel_of_nothing_is_empty() -> None:
    panel = make_panel("x", np.zeros((2, 3, 4)), np.zeros((0, 3, 4)))
    assert panel.actual is not None
    assert panel.actual.size == 0
    _, picture = heat_maps(panel)
    assert (picture.width, picture.squares) == (0, "")


def test_drawing_marks_right_wrong_and_what_follows() -> None:
    drawing = Drawing(("x",), (("a", "b"), ("c",), ("d",)), frozenset({"a", "b"}), ("c",))
    picture = flow(drawing)
    assert [(box.text, box.state) for box in picture.boxes] == [
        ("x", "input"), ("✓ a", "right"), ("✓ b", "right"), ("✗ c", "wrong"), ("d", "open"),
    ]  # fmt: skip
    line, *tip = picture.arrow
    assert (line.x1, line.y2) == (line.x2, picture.height - 2)
    assert {(side.x2, side.y2) for side in tip} == {(line.x2, line.y2)}
    assert min(box.x for box in picture.boxes) > line.x1


# --- a real browser ----------------------------------------------------------------------------


def test_browser_draws_the_page(shipped_engine: Engine, browser: str, tmp_path: Path) -> None:
    page, _ = _page(shipped_engine, "keys-from-queries", "exercise3")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    seen = colours(screenshot(browser, tmp_path, "page.html", "1000,2200"))
    assert {(251, 220, 221), (227, 244, 230), (193, 18, 31)} <= seen  # wrong, right, diagnosis
    assert len(seen) > 100  # the shades of the heat maps
