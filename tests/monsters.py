"""Texts that are made to be slow, or large, to read, and what the grader does with a text.

`python tests/monsters.py` prints what each takes.
"""

import json
import resource
import time
from collections.abc import Sequence
from pathlib import Path

from grader.compare.evidence import Evidence
from grader.compare.scene import Scene
from grader.compare.statement import find_statement, shown
from grader.handin.forbidden import find_forbidden
from grader.handin.plain import is_plain
from grader.handin.read import Source, method_names, nested_line, source_of
from grader.handin.syntax import names_used
from grader.records.answers import Frame, StudentError
from grader.worker.protocol import Cause

_FILE = 2 << 20  # bytes that a file may have
CODE = 500_000  # characters: just below what is searched
_MANY = 9_000  # of something with six nodes: just below what is searched
_MHA = "torch.nn.MultiheadAttention"


def _notebook(*cells: str, cell_type: str = "code", **more: object) -> str:
    made = [{"cell_type": cell_type, "metadata": {}, "source": cell, "outputs": []}
            for cell in cells]  # fmt: skip
    return json.dumps({"cells": made, "metadata": more, "nbformat": 4, "nbformat_minor": 5})


def _chain_of_functions(count: int) -> str:
    functions = [f"def f{n}():\n    return f{n + 1}()\n" for n in range(count)]
    return "".join(reversed(functions)) + f"def f{count}():\n    return {_MHA}\n"


def _nested(line: str, depth: int, inner: str) -> str:
    lines = [f"{' ' * n}{line}\n" for n in range(depth)]
    return "".join(lines) + "".join(f"{' ' * depth}{inner}\n" for _ in range(_MANY // 3))


SOURCES = {  # what stands in a .py file
    "empty lines": "\n" * CODE,
    "spaces": " " * CODE,
    "one comment": "#" * _FILE,
    "statements": "a\n" * (CODE // 2),
    "statements, as many as may be": "a\n" * 13_300,
    "list": f"[{'1,' * (CODE // 2)}]",
    "sum": "1" + "+1" * (CODE // 2),
    "deep sum, as deep as may be": ("x = 1" + "+1" * 980 + "\n") * 13,
    "chain of attributes": "a" + ".a" * (CODE // 2),
    "chains of attributes": f"x = a{'.MultiheadAttention' * 900}\n" * 21,
    "long chains of short names": f"x = a{'.a' * 980}.MultiheadAttention\n" * 19,
    "long chains that are changed": f"a{'.a[0]' * 330}.MultiheadAttention = 1\n" * 19,
    "call of a long chain": f"class f:\n def __init__(self):\n  self.a = a{'.a' * 980}()\n"
    "  self.a(1)\n" + "\n" * 9,
    "chain of calls": "a" + "()" * (CODE // 2),
    "brackets": "(" * 100_000,
    "brackets of all kinds": "([{" * 60 + "}])" * 60,
    "unary": "-" * (CODE - 2) + "1",
    "not": "not " * (CODE // 4 - 1) + "1",
    "lambdas": "lambda: " * (CODE // 8 - 1) + "1",
    "lambda defaults": "lambda a=(" * 99 + "1" + "): 1" * 99,
    "decorators": "@a\n" * (CODE // 3 - 9) + "def f(): pass",
    "decorators, as many as may be": "@a\n" * 19_900 + "def f(): pass",
    "nested functions": _nested("def f():", 90, f"{_MHA}"),
    "nested classes": _nested("class f:", 90, "def __init__(self): pass"),
    "nested withs": _nested("with a:", 90, "b"),
    "nested ifs": _nested("if a:", 99, "b"),
    "elifs": "if a: pass\n" + "elif a: pass\n" * 30_000,
    "long names": f"{'a' * (CODE // 2)} = {'b' * (CODE // 2 - 9)}",
    "many names": "".join(f"a{n} = b{n}\n" for n in range(9_900)),
    "names of one statement": f"{' = '.join(f'a{n}' for n in range(6_500))} = "
    f"[{', '.join(f'a{n}' for n in range(6_500))}, {_MHA}]",
    "chain of functions": _chain_of_functions(4_900),
    "methods": "class f:\n" + " def __iniit__(self): pass\n" * 5_600,
    "arguments": f"def f({','.join(f'a{n}' for n in range(19_000))}): pass",
    "marks on letters": "a" + "\u0315\u0300" * (CODE // 4),
    "unicode names": "".join(f"ﷺ{n} = 1\n" for n in range(9_900)),
    "strings side by side": '"a" ' * (CODE // 4),
    "one string": f"x = '{'a' * (CODE - 9)}'",
    "open string": "x = '''" + "a\n" * (CODE // 2 - 9),
    "f-string": f"f'{'{a}' * (CODE // 3 - 9)}'",
    "f-strings": "x = f'{a}{b!r:>{c}}'\n" * 2_000,
    "f-strings in f-strings": "f\"{f'{f'''{a}'''}'}\"\n" * 5_000,
    "huge number": "x = " + "9" * (CODE - 9),
    "huge hex": "x = 0x" + "f" * (CODE - 9),
    "continued lines": "a = \\\n" * (CODE // 6),
    "continued line": "a = " + "\\\n" * (CODE // 2 - 9) + "1",
    "tabs and spaces": "if a:\n" + " \t" * (CODE // 2 - 9) + "b",
    "indented more and more": "".join(f"{' ' * n}if a:\n" for n in range(900)),
    "form feeds": "\f\n" * (CODE // 2),
    "carriage returns": "\r" * CODE,
    "classes by words": "class " * (CODE // 6),
    "definition after blanks": "def" + " " * (CODE - 9),
    "raises": "raise" + ":" * (CODE - 9),
    "colons and blanks": ": " * (CODE // 2),
    "matches": "match a:\n" + " case {'a': [b, *c]}: pass\n" * 2_900,
    "types": "x: " + "a[" * 90 + "b" + "]" * 90,
    "stars": "f(" + "*a, **b, " * 6_000 + ")",
    "torch": f"{_MHA}\n" * 4_900,
    "imports": "".join(f"import a{n} as b{n}\n" for n in range(9_900)),
    "one import": f"from a import {', '.join(f'b{n} as c{n}' for n in range(19_000))}",
}
NOTEBOOKS = {  # what a notebook's file holds
    "one cell": _notebook("a\n" * (_FILE // 3)),
    "one cell that may be": _notebook("a\n" * 13_300),
    "10,000 cells": _notebook(*["x = 1"] * 10_000),
    "10,000 texts": _notebook(*["x = 1"] * 10_000, cell_type="markdown"),
    "1,000 cells": _notebook(*[f"x{n} = a{n}.b" for n in range(999)]),
    "1,000 magics": _notebook(*[f"%magic {n}\n!ls" for n in range(999)]),
    "checks on one line": _notebook("check('a');" * 40_000),
    "checks": _notebook(*["check('a')\n" * 29] * 999),
    "magics": _notebook("%a\n" * (CODE // 3)),
    "brackets": "[" * _FILE,
    "objects": f'{{"cells": [{"{}," * (_FILE // 4)}{{}}]}}',
    "deep metadata": '{"a":' * 400_000,
    "metadata": _notebook("x = 1", a=[[]] * 400_000),
    "huge number": f'{{"nbformat": {"9" * (_FILE - 99)}}}',
    "escapes": f'"{chr(92)}u0061' * 200_000,
    "pieces of a line": json.dumps(
        {"nbformat": 4, "cells": [{"cell_type": "code", "source": ["a"] * 400_000}]}
    ),
    "worksheets": json.dumps({"nbformat": 3, "worksheets": [{"cells": []}] * 90_000}),
}


def search(source: Source) -> None:
    """Do all that is done with a text, whatever its submission came to."""
    texts = [text for _, text in source.units]
    is_plain(source.units, ())
    find_forbidden(source, [_MHA], ["f", "f0", "a0"])
    names_used(texts, "a0")
    method_names(source, "f")
    for text in texts:
        nested_line(text, "f", "f", "f")
    for label, text in source.units[:3]:
        for line in (1, text.count("\n") // 2):
            _search_around(source, label, line)
    source.words.isdisjoint(["a"])


def _search_around(source: Source, label: str, line: int) -> None:
    frames = [Frame(label=label, line=line, name="f")]
    error = StudentError(type="E", bases=[], message="", frames=frames, cause=Cause.OWN)
    statement = find_statement(source, error)
    statement.layers, statement.names, statement.loops, list(statement.sums())
    for made in statement.made("a")[:3]:
        shown(made)
    evidence = Evidence.__new__(Evidence)
    object.__setattr__(evidence, "source", source)
    scene = Scene(evidence, error, None)
    scene.code, scene.defines("f"), scene.sets("a")


def spent() -> float:
    """Return the seconds of CPU time that this process and those that it ended have had."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in times)


def read(name: str, text: str) -> Source:
    """Read a text as if it had been handed in."""
    return source_of(name, lambda _: text.encode("utf-8", "surrogatepass"), _FILE)


def taken(name: str, text: str) -> tuple[float, Source]:
    """Return the wall seconds that reading and searching take, and what was read."""
    begun = time.perf_counter()
    source = read(name, text)
    if source.units:
        search(source)
    return time.perf_counter() - begun, source


def monsters() -> Sequence[tuple[str, str, str]]:
    """Return what each is called, the name of its file, and its text."""
    files = [(name, "a.py", text) for name, text in SOURCES.items()]
    return [*files, *((f"notebook: {n}", "a.ipynb", text) for n, text in NOTEBOOKS.items())]


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    ordinary = (root / "solutions/exercise3_multi_head.py").read_text(encoding="utf-8")
    taken("a.py", ordinary)
    for called, name, text in [("an ordinary exercise", "a.py", f"{ordinary}#"), *monsters()]:
        seconds, source = taken(name, text)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{seconds:8.3f} {peak:5} MiB {called}: {source.problem or 'is searched'}")
