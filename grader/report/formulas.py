"""Formulas of a lesson: as MathML for a page, and as plain text for where nothing draws them."""

import html
import re
from xml.etree import ElementTree  # makes XML here, and reads none

_INLINE = re.compile(r"\$([^$]+)\$")
_APART = ("=", "≤", "≥", "<", ">", "+", "-", "−")  # signs with a space on either side
_TURNED = "⊤"
_SCRIPTED = ("msub", "msup", "msubsup")
_LETTERS = ("mi", "mn", "mo")  # beside what is taller, scripts are where they belong


def mathml(formula: str, display: str) -> str:
    """Return a formula as MathML."""
    tree = _tree(formula, display)
    for element in list(tree.iter()):
        if element.tag.rpartition("}")[2] in _SCRIPTED:
            _level(element)
    return ElementTree.tostring(tree, encoding="unicode")


def _level(scripted: ElementTree.Element) -> None:
    """Give what carries a script a small height and depth.

    Without a font for mathematics, browsers put a superscript on top of the letter, and a subscript
    on its line.
    """
    base = scripted[0]
    if base.tag.rpartition("}")[2] not in _LETTERS:
        return
    space = "".join(base.tag.rpartition("}")[:2])
    scripted[0] = ElementTree.Element(f"{space}mpadded", {"height": "0.4em", "depth": "0.2em"})
    scripted[0].append(base)


def plain(text: str) -> str:
    r"""Return a text whose formulas can be read as they stand.

    Example: "Divide by $\sqrt{d}$." is "Divide by √d."
    """
    return _INLINE.sub(lambda found: " ".join(_written(_tree(found[1], "inline")).split()), text)


def _tree(formula: str, display: str) -> ElementTree.Element:
    """Return a formula's elements; what the library makes has references to characters as text."""
    from latex2mathml.converter import convert_to_element  # takes 50 ms, and most texts need none

    tree = convert_to_element(formula, display=display)
    for element in tree.iter():
        element.text = html.unescape(element.text or "")
    return tree


def _written(element: ElementTree.Element) -> str:
    """Return an element as it would be typed."""
    parts = [_written(child) for child in element]
    match element.tag.rpartition("}")[2]:
        case "mfrac":
            return f"{_grouped(parts[0])}/{_grouped(parts[1])}"
        case "msqrt":
            return f"√{_grouped(''.join(parts))}"
        case "msub":
            return f"{parts[0]}_{_grouped(parts[1])}"
        case "msup" if parts[1] == _TURNED:
            return f"{parts[0]}ᵀ"
        case "msup":
            return f"{parts[0]}^{_grouped(parts[1])}"
        case "msubsup":
            return f"{parts[0]}_{_grouped(parts[1])}^{_grouped(parts[2])}"
        case "mi" if len(element.text or "") > 1:
            return f"{element.text} "  # a word, such as log
        case "mo" if element.text == ",":
            return ", "
    return (element.text or "") + _row(element, parts)


def _row(element: ElementTree.Element, parts: list[str]) -> str:
    """Return what stands side by side; a sign between two things is set apart."""
    row = ""
    for child, part in zip(element, parts, strict=True):
        between = child.tag.rpartition("}")[2] == "mo" and part in _APART and row
        row += f" {part} " if between else part
    return row


def _grouped(part: str) -> str:
    """Return what belongs together in brackets, where it is not one number or name."""
    return part if part.lstrip("-−").isalnum() else f"({part})"
