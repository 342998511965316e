"""Forbidden names are found through imports and other names, and nowhere else."""

import ast
from pathlib import Path

import pytest

from grader.handin.forbidden import find_forbidden
from grader.handin.read import Source
from grader.handin.syntax import walked


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nf = torch.nn.LayerNorm(3)\n",
        "from torch import nn\ndef f(x): return nn.LayerNorm(3)(x)\n",
        "import torch.nn as n\nNORM = n.LayerNorm(3)\ndef f(x): return NORM(x)\n",
        "from torch.nn import LayerNorm as Other\ndef g(x): return Other(3)(x)\nf = g\n",
        "import torch.nn\nclass f(torch.nn.LayerNorm): pass\n",
        "from torch import nn\nf.forward = nn.LayerNorm(3)\nclass f: pass\n",
    ],
    ids=["whole", "from torch", "alias of a module", "alias of the class", "base class", "patched"],
)
def test_find_forbidden_sees_through_imports(text: str) -> None:
    source = Source("a.py", units=(("a.py", text),))
    found = find_forbidden(source, ["torch.nn.LayerNorm"], ["f"])
    assert [(f.name, f.line) for f in found] == [("torch.nn.LayerNorm", 2)]


@pytest.mark.parametrize(
    "text",
    [
        "LayerNorm = 3\nf = LayerNorm\n",
        "x = (",
        "# torch.nn.LayerNorm\n",
        "from torch import nn\ndef f(x): return x\nassert f(1) == nn.LayerNorm(1)(1)\n",
        "from torch import nn\ndef f(out): return out\nout = nn.LayerNorm(1)\nprint(f(out))\n",
        "from torch import nn\nf = 1\nif __name__ == '__main__':\n    nn.LayerNorm(f)\n",
    ],
    ids=["other", "unreadable", "comment", "compared", "name of an argument", "main"],
)
def test_find_forbidden_leaves_other_names_alone(text: str) -> None:
    source = Source("a.py", units=(("a.py", text),))
    assert find_forbidden(source, ["torch.nn.LayerNorm"], ["f"]) == []


def test_walked_goes_as_ast_does() -> None:
    tree = ast.parse(Path(__file__).read_text("utf-8"))
    assert walked(tree) == list(ast.walk(tree))
