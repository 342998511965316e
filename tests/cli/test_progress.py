"""The bar of long work is one line of one width, whoever is graded."""

import io

import pytest
from wcwidth import wcswidth

from grader.cli.shared import ProgressBar


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("label", ["ada", "张伟", "王" * 60, "\x1b[2J", "a\r\nb"], ids=ascii)
def test_bar_is_as_wide_for_every_label(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    clock = iter([0.0, 0.0, 2.0])  # made, told what to expect, and a step is done
    monkeypatch.setattr("time.monotonic", lambda: next(clock, 2.0))
    bar = ProgressBar()
    bar.expect(2)
    bar.advance(label)
    shown = screen.getvalue()
    assert shown.startswith("\r")
    assert wcswidth(shown[1:]) == 30 + 2 + len("1/2") + 2 + 50
