"""Counts the figures of the package's structure against their targets: `make figures`.

    python benchmarks/structure.py [--list]

It reads source alone; `--list` names what each count found. A function's length is from its `def`
to its last line, docstring and all. The exit status is 1 where a target is missed.
"""

import argparse
import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from figures import ROOT

sys.path.insert(0, str(ROOT / "tests"))  # the table of packages is that of the tests

import layers

_LONG_MODULE = 400  # lines
_LONG_FUNCTION = 40  # lines
_LONGISH_FUNCTION = 30  # lines
_UNTYPED = "dict[str, Any]"
_TEXT = (".py", ".html", ".css", ".js", ".svg", ".j2")  # what a page is made of counts as well


@dataclass(frozen=True)
class Count:
    """One figure: what was found, and how much of it may be there."""

    name: str
    found: tuple[str, ...]  # each with its place; empty where the number alone is known
    at_most: int
    number: int

    @property
    def reached(self) -> bool:
        """Whether the target is reached."""
        return self.number <= self.at_most


def _count(name: str, found: list[str], at_most: int) -> Count:
    return Count(name, tuple(found), at_most, len(found))


def _functions() -> Iterator[tuple[str, int]]:
    """Give each function's place and its lines."""
    for module, path in layers.modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield f"{module}.{node.name}, line {node.lineno}: {lines} lines", lines


def measure() -> list[Count]:
    """Return all figures."""
    arrows, functions = layers.arrows(), list(_functions())
    texts = {m: p.read_text(encoding="utf-8").splitlines() for m, p in layers.modules().items()}
    files = [path for path in layers.PACKAGE.rglob("*") if path.suffix in _TEXT]
    total = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    up = {"{} -> {}".format(*arrow.rooms) for arrow in arrows if arrow.runs_up}
    untyped = [
        f"{module}, line {number}: {line.strip()}"
        for module, lines in texts.items()
        for number, line in enumerate(lines, start=1)
        if _UNTYPED in line
    ]
    return [
        _count("loose modules at the top", [p.name for p in layers.PACKAGE.glob("*.py")], 6),
        _count("circles of modules", [", ".join(c) for c in layers.circles(arrows)], 0),
        _count("arrows between packages that run up", sorted(up), 5),
        _count(
            f"modules over {_LONG_MODULE} lines",
            [f"{m}: {len(lines)}" for m, lines in texts.items() if len(lines) > _LONG_MODULE],
            0,
        ),
        *(
            _count(f"functions over {most} lines", [p for p, n in functions if n > most], at_most)
            for most, at_most in ((_LONG_FUNCTION, 0), (_LONGISH_FUNCTION, 15))
        ),
        _count(f"lines with {_UNTYPED}", untyped, 15),
        Count("lines of grader/", (), 19_500, total),
    ]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--list", action="store_true", help="name what was counted")
    named = parser.parse_args().list
    counts = measure()
    print(f"{'figure':<40}{'counted':>9}{'at most':>9}")
    for count in counts:
        verdict = "ok" if count.reached else "MISSED"
        print(f"{count.name:<40}{count.number:>9}{count.at_most:>9}  {verdict}")
        print(*(f"    {place}\n" for place in count.found if named), sep="", end="")
    return int(not all(count.reached for count in counts))


if __name__ == "__main__":
    sys.exit(main())
