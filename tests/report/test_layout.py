"""Columns and lines have the widths that a terminal gives them."""

import click
import pytest
from wcwidth import wcswidth

from grader.report.layout import columns, cut, padded, spread, width_of, wrapped

_WIDE = "张伟"  # two columns each
_ACCENT = "e\u0301"  # an e, and an accent upon it
_EMOJI = "\N{FACE WITH TEARS OF JOY}"
_FAMILY = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"  # one sign on some terminals, three on others
_HOSTILE = [
    "a\tb", "a\bb", "a\rb", "a\nb", "\x1b[2Jab", "\x9b31mab", "\u202eab", "a\u2028b", "\0ab",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), (_WIDE, 4), (_ACCENT, 1), (_EMOJI, 2), (click.style("ab", fg="red"), 2), ("", 0)],
)
def test_width_is_that_of_the_screen(text: str, width: int) -> None:
    assert width_of(text) == width


@pytest.mark.parametrize("name", ["ada", _WIDE, f"Ren{_ACCENT}e", f"{_EMOJI}{_EMOJI}", _FAMILY, ""])
def test_columns_align_behind_every_name(name: str) -> None:
    lines = columns([(name, "1"), ("somebody", "12.5")], "<>")
    assert [wcswidth(line) for line in lines] == [14, 14]


@pytest.mark.parametrize("name", _HOSTILE, ids=ascii)
def test_columns_let_no_name_move_the_cursor(name: str) -> None:
    lines = columns([(name, "1"), ("somebody", "12.5")], "<>", indent=2)
    assert all(line.isprintable() for line in lines)
    assert [wcswidth(line) for line in lines] == [16, 16]


def test_columns_end_without_spaces() -> None:
    assert columns([("a", ""), ("b", "long")], "<<", indent=1) == [" a", " b  long"]


def test_columns_of_nothing_are_no_lines() -> None:
    assert columns([], "<>") == []


def test_columns_cut_all_but_the_last() -> None:
    lines = columns([(_WIDE * 5, "a long remark"), ("ada", "b")], "<<", most=8)
    assert lines == ["张伟张…  a long remark", "ada      b"]


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 4, "abc…"),
        (_WIDE, 4, _WIDE),
        (_WIDE, 3, "张…"),
        (f"{_WIDE}x", 4, "张…"),  # half a character is none
        (f"a{_ACCENT}{_ACCENT}b", 3, f"a{_ACCENT}…"),  # an accent stays with its letter
    ],
)
def test_cut_text_is_as_wide_as_it_may_be(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown
    assert width_of(shown) <= width


@pytest.mark.parametrize(("right", "shown"), [(False, "张 "), (True, " 张")])
def test_padding_counts_columns(right: bool, shown: str) -> None:
    assert padded("张", 3, right=right) == shown


def test_spread_text_reaches_both_ends() -> None:
    assert width_of(spread(_WIDE, "3 / 4", 40)) == 40
    assert spread("abc", "def", 3) == "abc  def"


@pytest.mark.parametrize("width", [20, 31, 80])
@pytest.mark.parametrize("text", [_WIDE * 60, f"{_WIDE} " * 30, "plain words " * 20])
def test_wrapped_lines_fit_whatever_they_hold(text: str, width: int) -> None:
    lines = wrapped(text, width, first=f"  {click.style('✗', fg='red')} ", hang=4)
    assert max(map(width_of, lines)) <= width
    assert "".join("".join(lines).replace(click.style("✗", fg="red"), "").split()) == "".join(
        text.split()
    )


def test_wrapped_nothing_is_its_beginning() -> None:
    assert wrapped("", 80, first="  - ") == ["  - "]


@pytest.mark.parametrize("kept", ["grade hint exercise3 fold_heads", "`scores / math.sqrt(d)`"])
def test_commands_and_code_are_not_broken(kept: str) -> None:
    """Wherever the end of a line falls."""
    for before in range(40):
        lines = wrapped(f"{'x' * before} then {kept} and on", 44)
        assert sum(kept in line for line in lines) == 1


def test_long_code_joins_nothing_behind_it() -> None:
    """What stands between two names is no code."""
    name = f"`{'layer.' * 9}weight`"
    lines = wrapped(f"it has {name} (8, 8), {name} (8, 8) and others", 80, first="- ", hang=2)
    assert [line.count("`") % 2 for line in lines] == [0] * len(lines)
