"""The charts of a class: bars that stand in their frame, whatever the class."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from drawn import colours, screenshot

from grader.classes.insight import Insight
from grader.classes.statistics import Attempt, TimeLine, spread_of, time_line
from grader.classes.summary import Summary
from grader.report.charts import Chart, attempts, histogram
from grader.report.pages import render_class


def _stands_in_its_frame(chart: Chart) -> None:
    for bar in chart.bars:
        assert chart.left <= bar.x < bar.x + bar.width <= chart.right
        assert chart.top <= bar.y <= chart.bottom
        assert bar.y + bar.height == pytest.approx(chart.bottom)
    assert all(chart.left <= mark.at <= chart.right for mark in (*chart.below, *chart.lines))
    assert all(float(mark.text).is_integer() for mark in chart.beside)


@pytest.mark.parametrize("scores", [[0.0], [7.0], [0.0, 3.5, 7.0] * 700, [2.0] * 10])
def test_histogram_has_a_bar_as_high_as_its_students(scores: list[float]) -> None:
    spread = spread_of("", scores, 7.0)
    assert spread is not None
    chart = histogram(spread)
    _stands_in_its_frame(chart)
    high = [bar.height for bar in chart.bars]
    assert [h / max(high) for h in high] == pytest.approx(
        [count / max(spread.bins) for count in spread.bins]
    )
    assert sum(int(bar.count or 0) for bar in chart.bars) == len(scores)


@pytest.mark.parametrize("days", [0, 1, 35, 400, 40_000])
def test_time_line_stands_in_its_frame(days: int) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    made = [
        Attempt("ada", "exercise1", 1, begin + timedelta(days=n * days / 5), 1.0, 2.0, ())
        for n in range(6)
    ]
    chart = attempts(time_line(made))
    _stands_in_its_frame(chart)
    assert len(chart.below) <= 10
    heights = [float(point.split(",")[1]) for point in chart.points.split()]
    assert heights == [pytest.approx((chart.top + chart.bottom) / 2)] * len(heights)  # half of all


def test_browser_draws_the_bars_and_the_lines(browser: str, tmp_path: Path) -> None:
    """On a page of nothing else: the colours of bars, mean and median are there."""
    spread = spread_of("", [1.0, 2.0, 6.0, 7.0], 7.0)
    assert spread is not None
    insight = Insight((spread,), (), (), TimeLine(""), ())
    summary = Summary("Course", "", "hidden", "", (), 4, (), (), (), ())
    (tmp_path / "page.html").write_text(render_class(summary, insight), encoding="utf-8")
    seen = colours(screenshot(browser, tmp_path, "page.html", "1000,600"))
    assert {(74, 120, 181), (193, 18, 31), (138, 97, 0)} <= seen
