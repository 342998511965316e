"""The colours of pages can be read: the contrast that WCAG 2 asks for, in both themes."""

import re
from pathlib import Path

import pytest

import grader.report

TEMPLATES = Path(grader.report.__file__).with_name("templates")
TEXT, SHAPES = 4.5, 3.0  # level AA: sections 1.4.3 and 1.4.11
PAIRS = [
    *((colour, "paper", TEXT) for colour in ("ink", "soft", "right", "wrong", "idle", "ours")),
    *(("ink", ground, TEXT) for ground in ("said", "box", "good", "bad")),
    ("bar", "paper", TEXT),  # links of a lesson, and bars
    ("soft", "box", TEXT),
    ("right", "good", SHAPES),  # frames of boxes
    ("wrong", "bad", SHAPES),
]


def _palette(theme: str) -> dict[str, str]:
    text = (TEMPLATES / f"{theme}.css.j2").read_text(encoding="utf-8")
    found = re.findall(r"--(\w+):#([0-9a-f]{3,6})", text)
    return {
        name: value if len(value) == 6 else "".join(c * 2 for c in value) for name, value in found
    }


def _luminance(colour: str) -> float:
    """The relative luminance, as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("colour", "ground", "least"), PAIRS)
def test_colours_have_contrast(theme: str, colour: str, ground: str, least: float) -> None:
    palette = _palette(theme)
    assert _contrast(palette[colour], palette[ground]) >= least


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("colour", "ground"),
    [("quiet", "paper"), ("quiet", "alike"), ("ink", "alike"), ("link", "paper")],
)
def test_colours_of_alike_code_have_contrast(theme: str, colour: str, ground: str) -> None:
    text = (TEMPLATES / "likeness.html.j2").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--(\w+): #([0-9a-f]{3,6})", line))
        for line in re.findall(r":root \{.*?\}", text)
    )
    palette = {"light": light, "dark": dark}[theme]
    six = {name: value * 2 if len(value) == 3 else value for name, value in palette.items()}
    assert _contrast(six[colour], six[ground]) >= TEXT


def test_black_on_white_is_the_most() -> None:
    assert _contrast("000000", "ffffff") == pytest.approx(21)
